/** Runs the test files in test/ whose names begin with a or b, in one process. */
import { runFiles } from '../support/run-files.ts';

runFiles('test/[a-b]*.test.ts');
