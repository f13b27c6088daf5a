/** Finds the changes that Citus does not make for tables that it stores at its workers, and says what to do instead. */
import { shorten } from '../../../../core/identifiers.ts';
import type { TableDescription } from '../../definition.ts';
import type { DefinitionProblems } from '../../definition-problems.ts';
import type { Change } from './change.ts';
import { shown, type Target } from './column-changes.ts';
import type { MatchedColumns } from './match-columns.ts';

/** Adds a problem for each change that Citus refuses. @param table the table before the changes */
export function refuseInCitus(
  table: TableDescription,
  changes: Change[],
  { prepared }: Target,
  { oldNames }: MatchedColumns,
  problems: DefinitionProblems,
): void {
  const { distribution, columns } = table;
  if (distribution === undefined || distribution.kind === 'local') return;
  const numbered = new Set(
    prepared.columns.filter(({ identity }) => /^(always|by default)$/.test(identity)).map(({ name }) => name),
  );
  const ofSequence = new Set(columns.filter(({ sequence }) => sequence).map(({ name }) => name));
  for (const { change, name = '', pointer } of changes) {
    const refuse = (detail: string) =>
      problems.add({ pointer, code: 'not-supported', detail: `Citus ${detail}` });
    const oldName = oldNames.get(name) ?? name;
    if (change === 'rename-constraint')
      refuse(`cannot rename the constraint "${shorten(name)}" of a distributed table; keep its name`);
    else if (change === 'add-column' && numbered.has(name))
      refuse(`cannot add an identity to a distributed table; send another type for ${shown(name)}`);
    else if (change === 'change-identity' && (numbered.has(name) || !ofSequence.has(oldName)))
      refuse(`cannot change the identity of ${shown(name)} of a distributed table; keep it`);
    else if (change === 'change-type' && oldName === distribution.column)
      refuse(`cannot change the type of the distribution column; keep the type of ${shown(name)}`);
  }
}
