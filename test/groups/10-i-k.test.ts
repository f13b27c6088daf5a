/** Runs the test files in test/ whose names begin with i to k, in one process. */
import { runFiles } from '../support/run-files.ts';

runFiles('test/[i-k]*.test.ts');
