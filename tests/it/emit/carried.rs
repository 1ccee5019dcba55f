//! What loops carry from step to step in CUDA: remainders and quotients of their counters, and lanes' addresses.

use std::collections::BTreeMap;

use warpline_emit::cuda;
use warpline_scenarios::{Inputs, compile};

use super::{body, small, written};

/// The kernel of a text in the language.
fn text(source: &str) -> String {
    let set = BTreeMap::new();
    let p = compile("x.pipe", source, &Inputs { set: &set, cores: None }).unwrap();
    body(&cuda(&p, &p).unwrap())
}

/// Kernels around a loop of 20 steps, with three slots of a buffer and a variable.
fn steps(body: &str) -> String {
    text(&format!(
        "kernel x()\n  needs sm_80\n  grid 1\n  warps 1\n  global A: f16[64, 2048]\n  shared a[3]: f16[64, 64] swizzle 128\n  \
         shared word: i32\n  role one = warp 0\n  one:\n    var x = 4\n    for i in 0..20:\n{body}"
    ))
}

/// Executes what a loop does at the end of each turn, and holds it to `(x + offset) % by` and, where it is there, the quotient.
fn held(text: &str, name: &str, over: Option<&str>, x: impl Fn(i64) -> i64, by: i64) {
    let line =
        text.lines().map(str::trim).find(|l| l.contains(&format!("(({name} += "))).unwrap_or_else(|| panic!("{text}"));
    let mut values = BTreeMap::from([(name.to_string(), x(0).rem_euclid(by))]);
    values.extend(over.map(|o| (o.to_string(), x(0).div_euclid(by))));
    let set = |values: &mut BTreeMap<String, i64>, s: &str| {
        let words: Vec<&str> = s.trim_end_matches(';').split(' ').collect();
        let (v, n) = (values.get_mut(words[0]).unwrap(), words[2].parse::<i64>().unwrap());
        match words[1] {
            "=" => *v = n,
            "+=" => *v += n,
            "-=" => *v -= n,
            other => panic!("{other}"),
        }
    };
    for turn in 1..40 {
        let (before, rest) = line.split_once("if ((").unwrap();
        let (step, rest) = rest.split_once(") ").unwrap();
        let (test, then) = rest.split_once(") ").unwrap();
        let (sign, bound) = test.split_once(' ').unwrap();
        before.split_terminator("; ").for_each(|s| set(&mut values, s));
        set(&mut values, step);
        let bound = bound.parse::<i64>().unwrap();
        if if sign == "==" { values[name] == bound } else { values[name] >= bound } {
            then.split(", ").for_each(|s| set(&mut values, s));
        }
        assert_eq!(values[name], x(turn).rem_euclid(by), "turn {turn} of {line}");
        if let Some(o) = over {
            assert_eq!(values[o], x(turn).div_euclid(by), "turn {turn} of {line}");
        }
    }
}

#[test]
fn remainders_and_quotients_are_counted_by_every_step() {
    for step in [1, 2, 4, 5, 100] {
        let t = steps(&format!("      cp A[0, (x - 7) / 3] -> a[(x - 7) % 3]\n      x += {step}\n"));
        held(&t, "v0_x_plus_2_mod_3", Some("v0_x_plus_2_over_3"), |turn| 4 + step * turn + 2, 3);
        assert!(t.contains("int v0_x_plus_2_mod_3 = wl::fmod(v0_x + 2, 3);"), "{t}");
        assert!(t.contains("int v0_x_plus_2_over_3 = wl::fdiv(v0_x + 2, 3);"), "{t}");
        // (x - 7) / 3 is three less than (x + 2) / 3.
        assert!(t.contains("(v0_x_plus_2_over_3 - 3)"), "{t}");
    }
}

#[test]
fn a_loop_that_runs_on_over_others_counts_in_each() {
    let text = |stages| {
        let p = small("hopper/persistent", &[("stages", stages)]);
        body(&cuda(&p, &p).unwrap())
    };
    let three = text(3);
    held(&three, "v0_it_mod_3", Some("v0_it_over_3"), |turn| turn, 3);
    held(&three, "v0_it_plus_2_mod_3", None, |turn| turn + 2, 3);
    // What is used behind the loop is not the loop's.
    assert_eq!(three.matches("wl::fmod((v0_it - 1), 3)").count(), 1, "{three}");
    // By powers of two nothing is gained.
    assert!(!text(4).contains("Carried"));
}

#[test]
fn what_is_not_sure_is_made_where_it_is_used() {
    for body in [
        "      cp A[0, i] -> a[x % 3]\n      if i > 3: x += 1\n",
        "      cp A[0, i] -> a[x % 3]\n      x += 1\n      x += 1\n",
        "      x += 1\n      cp A[0, i] -> a[x % 3]\n",
        "      cp A[0, i] -> a[x % 3]\n      x += i\n",
        "      cp A[0, i] -> a[x % 3]\n      x -= 1\n",
        "      get word : i -> x\n      cp A[0, i] -> a[x % 3]\n",
        "      cp A[0, i] -> a[x % 3]\n      x = 2 * x\n",
    ] {
        let t = steps(body);
        assert!(t.contains("wl::fmod(v0_x, 3)") && !t.contains("_mod_3"), "{t}");
    }
    // A coordinate that the loop does not advance by a constant, and parts that lanes do not share evenly.
    let t = steps("      cp A[0, x * x] -> a[i % 3]\n      x += 1\n");
    assert!(t.contains("v1_i_mod_3") && t.contains("const from =") && t.contains("r0 + r"), "{t}");
}

#[test]
fn addresses_of_lanes_are_carried_and_advance_with_the_loop() {
    let p = small("hopper/cp_async_wgmma", &[("m", 128), ("n", 256), ("k", 1280)]);
    insta::assert_snapshot!("cp_async_wgmma", body(&cuda(&p, &p).unwrap()));
    // A name stands for what it was set to in this turn, and only behind that place.
    let t = steps("      let y = 2 * i + x\n      cp A[0, y] -> a[0]\n      x += 3\n");
    assert!(t.contains("from") && t.contains(" += 640;"), "{t}");
    let t = steps("      cp A[0, x] -> a[0]\n      x = i + 1\n");
    assert!(!t.contains("Carried"), "{t}");
}

#[test]
fn the_reference_and_other_targets_carry_nothing() {
    let all = written("hopper/cp_async_wgmma").unwrap().out;
    let reference = all.find(") reference(").unwrap();
    assert!(all[..reference].contains("// Carried") && !all[reference..].contains("// Carried"));
    for name in ["cdna/two_step_ahead_mi300x", "metal/triple_buffer"] {
        assert!(!written(name).unwrap().out.contains("// Carried"), "{name}");
    }
}
