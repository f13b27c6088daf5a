import { jsonFiles } from './json-files.ts';
import { layouts } from './layouts.ts';
import type { MessyFile } from './messy-file.ts';
import { textFiles } from './text-files.ts';
import { workbooks } from './workbooks.ts';

export const messyFiles: MessyFile[] = [...textFiles, ...layouts, ...workbooks, ...jsonFiles];
