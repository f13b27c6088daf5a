/** Runs the test files in test/ whose names begin with c, in one process. */
import { runFiles } from '../support/run-files.ts';

runFiles('test/c*.test.ts');
