/**
 * Functions of `node:http`, without an import of it. An import reads all properties of the module, and some of them load the
 * `fetch` and the WebSockets of Node.js, which took 115 ms of a start (measured with Node.js 24.21).
 */
import process from 'node:process';

export const { createServer, request } = process.getBuiltinModule('node:http');
