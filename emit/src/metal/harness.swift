// usage: x FILE.metal [--runs N] [--time N] [--real]
//   --runs N   N runs compared with the reference
//   --time N   N timed runs (by the GPU's clock), without a check
//   --real     inputs between -1 and 1 instead of small integers, for timing
// Prints one line of JSON. Status 0: all runs ended with the right result; 1: a run did not; 2: the set-up failed.
// A barrier has no deadline: macOS ends a kernel that hangs, and the command buffer reports an error here.

import Foundation
import Metal

func fail(_ outcome: String, _ error: String, _ status: Int32) -> Never {
    print("{\"kernel\":\"\(name)\",\"outcome\":\"\(outcome)\",\"error\":\"\(error.replacingOccurrences(of: "\"", with: "'"))\"}")
    exit(status)
}

var file = "", runs = 1, timed = 0, real = false
var arguments = Array(CommandLine.arguments.dropFirst())
while !arguments.isEmpty {
    let word = arguments.removeFirst()
    switch word {
    case "--runs": runs = Int(arguments.isEmpty ? "1" : arguments.removeFirst()) ?? 1
    case "--time": timed = Int(arguments.isEmpty ? "1" : arguments.removeFirst()) ?? 1
    case "--real": real = true
    default: file = word
    }
}
guard let device = MTLCreateSystemDefaultDevice(), let queue = device.makeCommandQueue() else { fail("setup", "no Metal device", 2) }
guard let source = try? String(contentsOfFile: file, encoding: .utf8) else { fail("setup", "cannot read \(file)", 2) }

func pipeline(_ function: String) -> MTLComputePipelineState {
    do {
        let options = MTLCompileOptions()
        let library = try device.makeLibrary(source: source, options: options)
        guard let f = library.makeFunction(name: function) else { fail("setup", "no function \(function)", 2) }
        return try device.makeComputePipelineState(function: f)
    } catch {
        fail("setup", "\(error)", 2)
    }
}

func mix(_ x: UInt32) -> UInt32 {
    var h = x
    h ^= h >> 16
    h = h &* 0x7feb_352d
    h ^= h >> 15
    h = h &* 0x846c_a68b
    return h ^ (h >> 16)
}

func buffer(_ bytes: Int) -> MTLBuffer {
    guard let b = device.makeBuffer(length: max(bytes, 16), options: .storageModeShared) else { fail("setup", "no memory", 2) }
    memset(b.contents(), 0, b.length)
    return b
}

func filled(_ m: Matrix, _ seed: UInt32) -> MTLBuffer {
    let b = buffer(m.pitchRows * m.pitch * m.bits / 8)
    let p = b.contents()
    for row in 0..<m.rows {
        for col in 0..<m.cols {
            let i = row * m.pitch + col
            let h = mix(seed ^ mix(UInt32(truncatingIfNeeded: i)) ^ UInt32(truncatingIfNeeded: i >> 32) &* 31)
            let v: Float = real ? Float(h >> 8) / 8_388_608 - 1 : Float(Int(h >> 8) % 7 - 3)
            switch m.type {
            case "F16": p.storeBytes(of: Float16(v), toByteOffset: i * 2, as: Float16.self)
            case "BF16": p.storeBytes(of: UInt16(truncatingIfNeeded: v.bitPattern >> 16), toByteOffset: i * 2, as: UInt16.self)
            case "I8": p.storeBytes(of: Int8(Int(h >> 8) % 7 - 3), toByteOffset: i, as: Int8.self)
            case "I32": p.storeBytes(of: Int32(Int(h >> 8) % 7 - 3), toByteOffset: i * 4, as: Int32.self)
            case "FP4": if i % 2 == 0 { p.storeBytes(of: UInt8(h & 0xff), toByteOffset: i / 2, as: UInt8.self) }  // any bits are a number
            default: p.storeBytes(of: v, toByteOffset: i * 4, as: Float.self)
            }
        }
    }
    return b
}

func value(_ m: Matrix, _ p: UnsafeMutableRawPointer, _ i: Int) -> Float {
    switch m.type {
    case "F16": return Float(p.load(fromByteOffset: i * 2, as: Float16.self))
    case "BF16": return Float(bitPattern: UInt32(p.load(fromByteOffset: i * 2, as: UInt16.self)) << 16)
    default: return m.bits == 32 ? p.load(fromByteOffset: i * 4, as: Float.self) : 0
    }
}

struct Side {
    var matrices: [MTLBuffer]
    let sink: MTLBuffer, sums: MTLBuffer, places: MTLBuffer
}
let threads = simdgroups * 32
func side(_ inputs: [MTLBuffer]) -> Side {
    var all = inputs
    for (i, m) in matrices.enumerated() where m.output { all[i] = buffer(m.pitchRows * m.pitch * m.bits / 8) }
    return Side(matrices: all, sink: buffer(threadgroups * threads * 8), sums: buffer(threadgroups * threads * sumsEach * 4),
                places: buffer(threadgroups * simdgroups * 4))
}

// One launch; its time on the GPU in microseconds.
func launch(_ state: MTLComputePipelineState, _ s: Side, _ run: Int) -> Double {
    guard let commands = queue.makeCommandBuffer(), let encoder = commands.makeComputeCommandEncoder() else { fail("setup", "no encoder", 2) }
    encoder.setComputePipelineState(state)
    for (i, b) in (s.matrices + [s.sink, s.sums, s.places]).enumerated() { encoder.setBuffer(b, offset: 0, index: i) }
    encoder.setThreadgroupMemoryLength(poolBytes, index: 0)
    encoder.dispatchThreadgroups(MTLSize(width: threadgroups, height: 1, depth: 1), threadsPerThreadgroup: MTLSize(width: threads, height: 1, depth: 1))
    encoder.endEncoding()
    commands.commit()
    commands.waitUntilCompleted()
    if let error = commands.error {
        let at = s.places.contents().bindMemory(to: UInt32.self, capacity: threadgroups * simdgroups)
        let seen = (0..<min(threadgroups * simdgroups, 4 * simdgroups)).map { at[$0] == 0 ? 0 : lines[Int(at[$0]) - 1] }
        fail("fault", "run \(run): \(error); lines last seen with WL_WATCH: \(seen)", 1)
    }
    return (commands.gpuEndTime - commands.gpuStartTime) * 1e6
}

let kernelState = pipeline("pipe")
if poolBytes > device.maxThreadgroupMemoryLength { fail("setup", "\(poolBytes) bytes of threadgroup memory", 2) }
if kernelState.maxTotalThreadsPerThreadgroup < threads { fail("setup", "\(threads) threads a threadgroup", 2) }
let inputs = matrices.enumerated().map { filled($0.element, UInt32(17 * $0.offset + 1)) }
let ours = side(inputs)

if timed > 0 {
    var us = (0..<timed + 3).map { launch(kernelState, ours, $0) }.dropFirst(3).sorted()
    print("{\"kernel\":\"\(name)\",\"outcome\":\"timed\",\"runs\":\(timed),\"us\":\(us[us.startIndex + us.count / 2]),\"us_low\":\(us.first!),\"us_high\":\(us.last!)}")
    us.removeAll()
    exit(0)
}

let theirs = side(inputs)
_ = launch(pipeline("reference"), theirs, 0)
var checked = 0, differ = 0, wrong = 0
func compare(_ x: Float, _ y: Float) {
    checked += 1
    if x == y { return }
    differ += 1
    if !(abs(x - y) <= 1e-3 + max(abs(x), abs(y)) * 0.01) { wrong += 1 }
}
for run in 0..<runs {
    _ = launch(kernelState, ours, run)
    (checked, differ, wrong) = (0, 0, 0)
    for (i, m) in matrices.enumerated() where m.output {
        let (x, y) = (ours.matrices[i].contents(), theirs.matrices[i].contents())
        for row in 0..<m.rows { for col in 0..<m.cols { compare(value(m, x, row * m.pitch + col), value(m, y, row * m.pitch + col)) } }
    }
    let (x, y) = (ours.sink.contents(), theirs.sink.contents())
    for i in 0..<threadgroups * threads {
        let (v, w) = (x.load(fromByteOffset: i * 8, as: UInt32.self), y.load(fromByteOffset: i * 8, as: UInt32.self))
        if v != 0 || w != 0 { compare(v == w ? 0 : 1e9, 0) }
    }
    let (p, q) = (ours.sums.contents(), theirs.sums.contents())
    for i in 0..<threadgroups * threads * sumsEach {
        let (v, w) = (p.load(fromByteOffset: i * 4, as: Float.self), q.load(fromByteOffset: i * 4, as: Float.self))
        if v != 0 || w != 0 { compare(v, w) }
    }
    if wrong > 0 || (exact && differ > 0) {
        print("{\"kernel\":\"\(name)\",\"outcome\":\"wrong\",\"run\":\(run),\"runs\":\(runs),\"checked\":\(checked),\"differ\":\(differ),\"wrong\":\(wrong)}")
        exit(1)
    }
}
print("{\"kernel\":\"\(name)\",\"outcome\":\"\(checked > 0 ? "right" : "ran")\",\"runs\":\(runs),\"checked\":\(checked),\"differ\":\(differ)}")
