/** Runs the test files in test/ whose names begin with i to l, in one process. */
import { runFiles } from '../support/run-files.ts';

runFiles('test/[i-l]*.test.ts');
