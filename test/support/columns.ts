/** Columns as tests write and read them. */
import type { TestAnswer } from './service.ts';

type Column = [name: string, type: string, more?: object];

/** Returns the columns of a definition. */
export function columns(...list: Column[]): { name: string; type: string }[] {
  return list.map(([name, type, more]) => ({ name, type, ...more }));
}

/** Returns the columns of the table that an answer shows, for example `price numeric`. */
export function typesOf(answer: TestAnswer): string[] {
  return answer.body.table.columns.map(({ name, type }: { name: string; type: string }) => `${name} ${type}`);
}
