/** What tests of the records of loads need, and what no test is about. */
import type { LoadFacts } from '../../src/service/loads/load-record.ts';

export const silentLog = { info: () => {}, warn: () => {}, error: () => {} };

/** The answer of a load whose process ended. */
export const lostAnswer = { status: 503, headers: {}, body: Buffer.from('{}') };

export const owner = Buffer.from('an owner');

/** The facts of an upload of JSON. */
export const uploadFacts: LoadFacts = {
  operation: 'upload-json',
  schema: 'public',
  table: 'orders',
  dryRun: false,
  owner,
  subject: undefined,
  role: undefined,
  bytesExpected: undefined,
};
