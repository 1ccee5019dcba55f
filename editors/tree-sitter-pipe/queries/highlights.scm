(comment) @comment
(string) @string
[(number) (decimal)] @number

(kernel name: (identifier) @function)
(parameter name: (identifier) @variable.parameter)
(element_type) @type.builtin
(unit) @constant.builtin
(queue) @constant.builtin
(built_in) @variable.builtin
(function) @function.builtin
(member (identifier) @property)
(call (identifier) @function)

(declaration name: (identifier) @variable)
(buffer name: (identifier) @variable)
(head role: (identifier) @label)
(place name: (identifier) @variable)
(target name: (identifier) @variable)
(tile name: (identifier) @variable)
(declaration machine: (identifier) @constant)

["kernel" "needs" "let" "require" "grid" "cluster" "cooperative" "warps" "regs" "waits" "global" "shared" "tmem" "reg"
 "mbar" "named" "role" "set" "trips"] @keyword

["for" "while" "if" "else" "var" "all" "elect" "pipelined" "stage" "in" "step" "warp" "warpgroup" "warpgroups"]
@keyword.control

["load" "ldg" "sts" "lds" "store" "cp" "dma" "tma" "tma.store" "tmem.ld" "tmem.st" "mma" "mfma" "wgmma" "umma"
 "umma.pair" "alu" "zero" "commit" "wait" "cp.arrive" "init" "inval" "arrive" "expect" "barrier" "simd.barrier"
 "warp.sync" "bar" "cluster.sync" "cluster.arrive" "cluster.wait" "fence" "wgmma.fence" "tmem.fence" "tmem.alloc"
 "tmem.dealloc" "put" "get" "clc" "red.add" "atom.add" "st" "ld" "grid.wait" "exit"] @function.builtin

["auto" "manual" "group" "counter" "swizzle" "pieces" "overlay" "on" "any" "per" "run" "stages" "schedule" "via"
 "producers" "unrolled" "guarded" "order" "async" "takes" "lands" "x" "uses" "batch" "dequant" "masked" "signals"
 "multicast" "noinc" "none" "device" "sync" "inc" "dec" "before" "after" "pair" "count" "thread" "once" "ctas"
 "parity" "drop" "state" "async.global" "mbarrier_init" "mbarrier_init.cluster"] @attribute

(order) @attribute

["and" "or" "not"] @keyword.operator
["=" "+=" "-=" "->" "<" "<=" ">" ">=" "==" "!=" "|" "&" "<<" "+" "-" "*" "/" "%" "?" ".." "@"] @operator
["(" ")" "[" "]"] @punctuation.bracket
["," ";" ":" "."] @punctuation.delimiter
