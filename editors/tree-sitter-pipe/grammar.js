/**
 * @file The kernel language of warpline (.pipe). docs/language.md has the grammar and its meaning.
 *
 * Lines are flat: the tree has no node for an indented block, so no scanner in C is needed. Words are not reserved:
 * a word is a keyword only where the grammar allows it, and a role may be called `load`.
 */

/// <reference types="tree-sitter-cli/dsl" />
// @ts-check

const separated = (separator, rule) => seq(rule, repeat(seq(separator, rule)));

// First words of statements, which may also be the names of roles or variables.
const OPERATIONS = [
  "load", "ldg", "sts", "lds", "store", "cp", "dma", "tma", "mma", "mfma", "wgmma", "umma", "alu", "zero", "commit",
  "wait", "init", "inval", "arrive", "expect", "barrier", "bar", "fence", "regs", "put", "get", "clc", "st", "ld",
  "exit",
];

const DECLARATIONS = [
  "needs", "require", "grid", "cluster", "cooperative", "warps", "waits", "global", "shared", "tmem", "reg", "mbar",
  "named", "role", "set", "trips",
];

const TYPES = ["f64", "f32", "tf32", "f16", "bf16", "fp8", "i8", "fp4", "i32"];

const UNITS = ["fma", "exp", "int"];

module.exports = grammar({
  name: "pipe",

  word: ($) => $.identifier,

  extras: ($) => [/[ \t]/, $.comment],

  rules: {
    source_file: ($) =>
      seq(repeat($._newline), $.kernel, repeat(seq(optional($._line), $._newline)), optional($._line)),

    _newline: (_) => /\r?\n/,
    comment: (_) => token(seq("//", /[^\r\n]*/)),
    identifier: (_) => /[A-Za-z_][A-Za-z0-9_]*/,
    number: (_) => token(choice(/0b[01]+/, /[0-9][0-9_]*/)),
    decimal: (_) => /[0-9][0-9_]*\.[0-9]+/,
    string: (_) => /"[^"\r\n]*"/,

    kernel: ($) =>
      seq("kernel", field("name", $.identifier), "(", optional(separated(",", $.parameter)), ")", $._newline),
    parameter: ($) => seq(field("name", $.identifier), optional(seq("=", field("default", $._expression)))),

    _line: ($) =>
      choice(
        seq($.declaration, repeat(choice($.declaration, $.let))),
        seq($.let, $.declaration, repeat(choice($.declaration, $.let))),
        $._statements,
      ),

    _statements: ($) =>
      choice(
        seq($._simple, optional(seq(";", optional($._statements)))),
        seq($._simple, alias($._else, $.head), optional($._statements)),
        seq($.head, optional($._statements)),
      ),

    // Declarations

    declaration: ($) =>
      choice(
        seq("needs", field("machine", $.identifier)),
        seq("require", $._expression, optional($.string)),
        seq("grid", separated(",", $._expression), optional(seq("group", $._expression))),
        seq("cluster", $._expression),
        "cooperative",
        seq("warps", $._expression),
        seq("regs", $._expression),
        seq("waits", choice("auto", "manual")),
        seq("global", field("name", $.identifier), ":", "counter", optional($.index)),
        seq("global", $.buffer),
        seq("shared", $.buffer),
        seq("tmem", $.buffer),
        seq("reg", separated(",", $.buffer)),
        seq("mbar", field("name", $.identifier), optional($.index), $.threads),
        seq("named", field("name", $.identifier), optional($.index)),
        seq("role", field("name", $.identifier), optional($.index), "=", $.warp_set),
        seq("set", field("name", $.identifier), "=", choice($.warp_set, seq("cta", $._expression))),
        seq(
          "trips", field("name", $.identifier), "=", "any", optional(seq("per", $.identifier)), "run", $._expression,
        ),
      ),

    buffer: ($) =>
      seq(
        field("name", $.identifier),
        optional($.index),
        optional(seq(":", $.type)),
        repeat(
          choice(
            seq("swizzle", $._expression),
            seq("pieces", $._expression, choice("rows", "cols")),
            seq("overlay", "on", $.identifier),
            seq("group", $._expression),
          ),
        ),
      ),

    type: ($) => prec.right(seq(choice($._element_type, $.chosen_type), optional($.index))),
    chosen_type: ($) => seq("(", $._condition, "?", $._element_type, ":", $._element_type, ")"),
    _element_type: ($) => alias(choice(...TYPES), $.element_type),

    warp_set: ($) =>
      choice(
        seq("warp", $._expression),
        seq("warpgroup", $._expression),
        seq("warps", $._expression, "..", $._expression),
        seq("warpgroups", $._expression, "..", $._expression),
      ),

    threads: ($) => seq("(", $._expression, ")"),

    // Heads of blocks

    head: ($) =>
      choice(
        seq("all", ":"),
        seq("elect", ":"),
        seq(field("role", $._start_name), ":"),
        seq($.warp_set, ":"),
        seq("for", separated(",", $.range), ":"),
        seq("while", $._expression, ":"),
        seq("if", $._expression, ":"),
        $._else,
        seq(
          "pipelined",
          $.range,
          repeat(
            choice(
              seq("stages", $._expression),
              seq("schedule", $.identifier),
              seq("via", $.identifier),
              seq("producers", $._expression),
              "unrolled",
              "guarded",
            ),
          ),
          ":",
        ),
        seq("stage", $._expression, optional(seq("order", $._expression)), optional("async"), ":"),
      ),

    _else: ($) => seq("else", optional(seq("if", $._expression)), ":"),

    range: ($) =>
      seq(
        field("index", $.identifier), "in", $._expression, "..", $._expression, optional(seq("step", $._expression)),
      ),

    // Statements

    _simple: ($) => choice($.let, $.var, $.assignment, $.operation),

    let: ($) => seq("let", separated(",", $.binding)),
    binding: ($) => seq(field("name", $.identifier), "=", $._expression),
    var: ($) => seq("var", $.binding),
    assignment: ($) => seq(field("name", $._start_name), choice("=", "+=", "-="), $._expression),

    // A name at the start of a statement, where words of the grammar are possible too.
    _start_name: ($) => choice($.identifier, alias(choice(...OPERATIONS, ...DECLARATIONS), $.identifier)),

    operation: ($) =>
      seq(
        $._operation,
        repeat(choice(seq("takes", $._cycles, optional(seq("..", $._cycles))), seq("lands", $._cycles))),
      ),
    _cycles: ($) => choice($.number, $.decimal),

    _operation: ($) =>
      choice(
        seq(
          choice("load", "ldg", "sts", "lds", "store", "cp", "dma", "tma", "tma.store", "tmem.ld", "tmem.st"),
          $.place,
          "->",
          $.place,
          repeat(
            choice(
              seq("batch", $._expression),
              seq("via", "dequant"),
              "masked",
              seq("signals", $.target),
              seq("multicast", $._expression),
            ),
          ),
        ),
        seq(choice("mma", "mfma", "wgmma", "umma", "umma.pair"), $.place, ",", $.place, "->", $.place),
        seq(
          "alu",
          alias(choice(...UNITS), $.unit),
          $._expression,
          optional(seq("x", $._expression)),
          optional(seq("uses", separated(",", $.place))),
          optional(seq("->", $.place)),
        ),
        seq(
          "zero",
          field("name", $.identifier),
          repeat($._part),
          optional(seq("@", "cta", $._expression)),
          optional(seq(":", $.type)),
        ),
        seq("commit", alias(choice("cp", "wgmma", "bulk"), $.queue)),
        seq("commit", alias("umma", $.queue), "->", separated(",", $.target)),
        seq("wait", $._queue, "<=", $._expression),
        seq("wait", $.target, choice("for", "parity", "state"), $._expression),
        seq("wait", $.target, choice(">=", "=="), $._expression, repeat($.order)),
        seq("cp.arrive", $.target, optional("noinc")),
        seq(choice("init", "inval"), separated(",", seq($.identifier, optional(seq("[", $._expression, "]"))))),
        seq(
          "arrive",
          $.target,
          repeat(
            choice(
              seq("expect", $._expression),
              seq("count", $._expression),
              seq("per", choice("thread", "warp")),
              "once",
              "relaxed",
              "cluster",
              "drop",
              seq("state", $._expression),
            ),
          ),
        ),
        seq("expect", $.target, $._expression),
        seq("barrier", optional(choice("none", "device"))),
        choice("simd.barrier", "warp.sync", "cluster.sync", "cluster.wait", "grid.wait", "exit", "wgmma.fence"),
        seq("cluster.arrive", optional("relaxed")),
        seq("bar", choice("sync", "arrive"), field("name", $.identifier), optional($.index), $.threads),
        seq("fence", choice("async", "async.global", "mbarrier_init", "mbarrier_init.cluster", "cta", "gpu")),
        seq("tmem.fence", choice("before", "after")),
        seq(choice("tmem.alloc", "tmem.dealloc"), field("name", $.identifier), optional("pair")),
        seq("regs", choice("inc", "dec"), $._expression),
        seq("put", $._expression, "->", $.place),
        seq("get", $.place, "->", field("name", $.identifier)),
        seq("clc", "->", $.place, "signals", $.target),
        seq(choice("red.add", "st"), $.target, ",", $._expression, repeat($.order)),
        seq("atom.add", $.target, ",", $._expression, "->", field("name", $.identifier), repeat($.order)),
        seq("ld", $.target, "->", field("name", $.identifier), repeat($.order)),
      ),

    _queue: ($) =>
      alias(choice("cp", "wgmma", "bulk", "bulk.read", "vm", "lgkm", "tmem.ld", "tmem.st"), $.queue),
    order: (_) => choice("relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu"),

    // Operands; the version of a mailbox is read as a tile.

    place: ($) =>
      seq(
        field("name", $.identifier),
        repeat($._part),
        optional(seq("@", choice("cta", "ctas"), $._expression)),
        optional(seq(":", $.tile)),
      ),
    tile: ($) =>
      prec.right(
        choice(
          seq(field("name", $.identifier), optional(seq("(", $._expression, ")")), repeat($._part)),
          $.number,
        ),
      ),
    _part: ($) => choice($.index, $.selector),
    // An mbarrier or a counter.
    target: ($) =>
      prec.right(
        seq(field("name", $.identifier), optional($.index), optional(seq("@", choice("cta", "ctas"), $._expression))),
      ),
    index: ($) => seq("[", separated(",", $._expression), "]"),
    selector: ($) =>
      seq(
        ".",
        choice(
          $.number,
          seq(
            alias(choice("at", "rows", "cols", "half", "block"), $.function),
            "(",
            separated(",", $._expression),
            ")",
          ),
        ),
      ),

    // Expressions

    _expression: ($) => choice($.conditional, $._condition),
    conditional: ($) => prec.right(seq($._condition, "?", $._expression, ":", $._expression)),
    _condition: ($) => choice($.unary, $.binary, $._atom),

    binary: ($) =>
      choice(
        ...[
          [1, "or"],
          [2, "and"],
          [4, choice("<", "<=", ">", ">=", "==", "!=")],
          [5, choice("|", "&", "<<")],
          [6, choice("+", "-")],
          [7, choice("*", "/", "%")],
        ].map(([level, operator]) => prec.left(level, seq($._condition, field("operator", operator), $._condition))),
      ),
    unary: ($) => choice(prec(3, seq("not", $._condition)), prec(8, seq("-", $._condition))),

    _atom: ($) => choice($.number, $.identifier, $.built_in, $.member, $.call, $.parenthesized),
    built_in: (_) => choice("self", "warp", "cta", "cores"),
    member: ($) => seq(choice($.identifier, $.built_in, alias(choice("cluster", "grid"), $.built_in)), ".", $.identifier),
    call: ($) =>
      prec(
        9,
        seq(
          choice(alias(choice("cdiv", "min", "max", "bytes"), $.function), $.identifier),
          "(",
          separated(",", $._expression),
          ")",
        ),
      ),
    parenthesized: ($) => seq("(", $._expression, ")"),
  },
});
