// Runs the Yosys of the npm package @yowasp/yosys as the command `yosys` is run:
//
//   node yosys.js FOLDER SCRIPT SOURCE...
//
// FOLDER holds node_modules/@yowasp/yosys. The sources are those that the script reads; what it
// writes goes into the current folder.
"use strict";
const fs = require("fs");
const path = require("path");
const url = require("url");

async function main(folder, script, ...sources) {
    const bundle = path.join(path.resolve(folder), "node_modules", "@yowasp", "yosys", "gen", "bundle.js");
    const yosys = await import(url.pathToFileURL(bundle));
    const files = Object.fromEntries(sources.map(name => [name, fs.readFileSync(name)]));
    const print = bytes => { if (bytes) process.stderr.write(bytes); };
    const written = await yosys.runYosys(["-q", "-p", script], files, {stdout: print, stderr: print});
    for (const [name, content] of Object.entries(written))
        if (!(name in files) && (typeof content === "string" || content instanceof Uint8Array))
            fs.writeFileSync(name, content);
}

main(...process.argv.slice(2)).catch(error => {
    console.error(String(error.message || error));
    process.exit(1);
});
