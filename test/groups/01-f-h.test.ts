/** Runs the test files in test/ whose names begin with f to h, in one process. */
import { runFiles } from '../support/run-files.ts';

runFiles('test/[f-h]*.test.ts');
