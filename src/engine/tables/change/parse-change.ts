/** Reads the body of Rename Table. */
import Type from 'typebox';
import { DefinitionProblems } from '../definition-problems.ts';
import { Comment, closed, Name } from '../name-schemas.ts';
import { readComment } from '../parse-definition.ts';
import { throwIfAny } from '../prepare-table.ts';
import { readMembers, readName, reportTo } from '../read-members.ts';

export const ChangeSchema = Type.Object(
  {
    name: Type.Optional(Name('The new name of the table.', 'orders')),
    schema: Type.Optional(Name('The new schema of the table.', 'archive')),
    comment: Comment('One row for each order'),
  },
  closed('TableChange', 'What changes. Absent members stay.'),
);

export interface TableChange {
  name?: string;
  schema?: string;
  /** null: no comment. */
  comment?: string | null;
}

/** @throws AppError `invalid-definition` with all problems */
export async function parseChange(body: unknown): Promise<TableChange> {
  const problems = new DefinitionProblems();
  const report = reportTo(problems);
  const member = readMembers(ChangeSchema, body, '', report, ': {"name": "orders"}');
  const change: TableChange = {};
  for (const key of ['name', 'schema'] as const) {
    const text = readName(member?.(key), `/${key}`, report);
    if (text !== undefined) change[key] = text;
  }
  const hasComment = member !== undefined && Object.hasOwn(body as object, 'comment');
  if (hasComment) change.comment = readComment(member('comment'), '/comment', report) ?? null;
  if (problems.count === 0 && Object.keys(change).length === 0)
    report('', 'missing', 'the body must have "name", "schema" or "comment"');
  await throwIfAny(problems);
  return change;
}
