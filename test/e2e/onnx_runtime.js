// Runs an ONNX model with ONNX Runtime, as it stands: no graph optimizations.
//
//   node onnx_runtime.js FOLDER MODEL INPUT.bin OUTPUT.bin PRECISE DIM...
//
// PRECISE of 1 lets it make weights bytes without sign: processors without VNNI saturate sums of two
// products of bytes with and without sign. That is one of its graph optimizations.
//
// FOLDER holds node_modules/onnxruntime-node. INPUT.bin holds float32 frames of
// the given dimensions one after the other; the float32 outputs are written in
// the same way. The model has one input and one output.
"use strict";
const fs = require("fs");
const path = require("path");

async function main(folder, model, input, output, precise, ...dims) {
    const ort = require(path.join(path.resolve(folder), "node_modules", "onnxruntime-node"));
    const session = await ort.InferenceSession.create(model, {
        graphOptimizationLevel: precise === "1" ? "extended" : "disabled",
        extra: {session: {x64quantprecision: precise}}, intraOpNumThreads: 1, interOpNumThreads: 1,
        logSeverityLevel: 3});
    const shape = dims.map(Number);
    const size = shape.reduce((a, b) => a * b, 1);
    const bytes = fs.readFileSync(input);
    const data = new Float32Array(bytes.buffer.slice(bytes.byteOffset,
                                                     bytes.byteOffset + bytes.length));
    const results = [];
    for (let at = 0; at < data.length; at += size) {
        const frame = new ort.Tensor("float32", data.slice(at, at + size), shape);
        const values = await session.run({[session.inputNames[0]]: frame});
        results.push(Buffer.from(Float32Array.from(values[session.outputNames[0]].data).buffer));
    }
    fs.writeFileSync(output, Buffer.concat(results));
}

main(...process.argv.slice(2)).catch(error => {
    console.error(String(error.message || error));
    process.exit(1);
});
