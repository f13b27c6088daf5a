/** Runs the test files in test/ whose names begin with s, in one process. */
import { runFiles } from '../support/run-files.ts';

runFiles('test/s*.test.ts');
