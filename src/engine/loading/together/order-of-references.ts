/** Orders tables so that each comes after the tables that it refers to. */

/**
 * Returns the tables in an order in which each comes after those that it refers to. If tables refer to each other in a circle, the one that is
 * reached first comes last of them.
 *
 * @param refersTo returns tables of the list
 */
export function inOrderOfReferences<Table>(
  tables: readonly Table[],
  refersTo: (table: Table) => readonly Table[],
): Table[] {
  const ordered = new Set<Table>();
  const visited = new Set<Table>();
  const visit = (table: Table): void => {
    if (visited.has(table)) return;
    visited.add(table);
    for (const other of refersTo(table)) visit(other);
    ordered.add(table);
  };
  for (const table of tables) visit(table);
  return [...ordered];
}
