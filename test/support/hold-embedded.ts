/** Starts the embedded PostgreSQL of a folder, prints its URL and waits until it is ended: a process for tests to kill. */

import { startEmbeddedPostgres } from '../../src/postgres/embedded.ts';

const log = { info: () => {}, warn: () => {} };
const server = await startEmbeddedPostgres({ dataDir: process.argv[2]!, log });
process.once('SIGTERM', () => server.stop());
process.stdout.write(`${server.url}\n`);
