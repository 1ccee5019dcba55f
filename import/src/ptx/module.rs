//! Statements of a file outside of bodies.

use super::body::{Cursor, bits, body, variables};
use super::lex::{Kind, tokens};
use super::{Entry, Error, Module, Param};

/// Reads a PTX file.
pub fn read(text: &str) -> Result<Module, Error> {
    let tokens = tokens(text).map_err(|(at, message)| {
        let line = text.as_bytes()[..at].iter().filter(|c| **c == b'\n').count() as u32 + 1;
        Error { line, span: (at, at), message, expected: "PTX".into() }
    })?;
    let mut m = Module::default();
    let mut c = Cursor::new(&tokens);
    while c.peek().is_some() {
        if !c.take('.') {
            return Err(c.expected("no directive begins so", "a directive such as `.visible`"));
        }
        match c.word() {
            Some("version" | "address_size") => c.skip_line(),
            Some("target") => {
                m.target = c.word().unwrap_or_default().to_string();
                c.skip_line();
            }
            Some("visible" | "extern" | "weak" | "common") => {}
            Some("file") => {
                let number = c.int();
                if let (Some(n), Some(Kind::Text(name))) = (number, c.peek()) {
                    m.files.insert(n as u32, name.clone());
                }
                c.skip_line();
            }
            Some("loc") => c.skip_line(),
            Some("shared") => m.shared.extend(variables(&mut c)?),
            Some("global" | "const" | "local" | "alias" | "pragma") => c.skip_statement(),
            Some("section") => section(&mut c)?,
            Some("entry") => {
                let entry = entry(&mut c, &mut m)?;
                m.entries.push(entry);
            }
            Some("func") => {
                let name = function_name(&mut c);
                while !c.is(';') && !c.is('{') && c.peek().is_some() {
                    c.next();
                }
                if !c.take(';') {
                    c.expect('{', "before a body")?;
                    let mut function = Entry::default();
                    body(&mut c, &mut function, &mut m)?;
                    m.functions.extend(name.map(|name| (name, function.code)));
                }
            }
            _ => return Err(c.expected("this directive is not known", "a directive of PTX")),
        }
    }
    Ok(m)
}

/// The name of a function: the first word behind its results and attributes.
fn function_name(c: &mut Cursor<'_>) -> Option<String> {
    while c.is('(') || c.is('.') {
        let list = c.take('(');
        while list && !c.take(')') && c.peek().is_some() {
            c.next();
        }
        if c.take('.') {
            c.word();
        }
    }
    c.word().map(str::to_string)
}

/// Debug information.
fn section(c: &mut Cursor<'_>) -> Result<(), Error> {
    c.take('.');
    c.word();
    c.expect('{', "before a section")?;
    while !c.is('}') {
        if c.next().is_none() {
            return Err(c.expected("a section has no end", "`}`"));
        }
    }
    c.expect('}', "behind a section")
}

fn entry(c: &mut Cursor<'_>, m: &mut Module) -> Result<Entry, Error> {
    let line = c.here().0;
    let name = c.word().ok_or_else(|| c.expected("a kernel has no name", "a name"))?.to_string();
    let mut e = Entry { name, line, ..Entry::default() };
    if c.take('(') {
        while !c.take(')') {
            e.params.push(param(c)?);
            c.take(',');
        }
    }
    loop {
        if c.take('{') {
            break;
        }
        if !c.take('.') {
            return Err(c.expected("a kernel has no body", "`{`"));
        }
        let what = c.word().unwrap_or_default();
        let mut three = || {
            let mut v = [1u32; 3];
            for x in &mut v {
                *x = c.int().unwrap_or(1).clamp(1, 1 << 20) as u32;
                if !c.take(',') {
                    break;
                }
            }
            v
        };
        match what {
            "reqntid" => {
                e.block = Some(three());
                e.block_is_bound = false;
            }
            "maxntid" => {
                let v = three();
                e.block_is_bound = e.block.is_none();
                e.block.get_or_insert(v);
            }
            "reqnctapercluster" => e.cluster = Some(three()),
            "maxnreg" => e.registers = Some(three()[0]),
            "minnctapersm" => e.ctas_of_sm = Some(three()[0]),
            "maxclusterrank" | "maxnctapersm" => drop(three()),
            "explicitcluster" | "noreturn" | "blocksareclusters" => {}
            "pragma" => c.skip_statement(),
            _ => return Err(c.expected("this directive is not known before a body", "a performance directive")),
        }
    }
    body(c, &mut e, m)?;
    Ok(e)
}

/// `.param .align 64 .b8 name[128]`
fn param(c: &mut Cursor<'_>) -> Result<Param, Error> {
    let (mut ty, mut align) = (String::new(), 1);
    c.expect('.', "before `param`")?;
    c.word();
    while c.take('.') {
        match c.word() {
            Some("align") => align = c.int().unwrap_or(1),
            Some("ptr" | "global" | "const" | "shared" | "local") => {}
            Some(t) => ty = t.to_string(),
            None => {}
        }
    }
    let _ = align;
    let name = c.word().ok_or_else(|| c.expected("a parameter has no name", "a name"))?.to_string();
    let mut bytes = (bits(&ty) as u64 / 8).max(1);
    while c.take('[') {
        bytes = bytes.saturating_mul(c.int().unwrap_or(0).max(0) as u64);
        c.expect(']', "behind the size of a parameter")?;
    }
    Ok(Param { name, ty, bytes })
}
