/** Runs the test files in test/ whose names begin with q or r, in one process. */
import { runFiles } from '../support/run-files.ts';

runFiles('test/[q-r]*.test.ts');
