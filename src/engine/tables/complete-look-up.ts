/** Completes the answer to a look-up of the names of a definition: adds what takes another round trip, which is the base types of domains and the widths of types. */
import type { ClientBase } from 'pg';
import { AppError } from '../../core/errors.ts';
import { firstOwnOid } from '../../encoding/columns/load-column.ts';
import { pipeline } from '../../postgres/pipeline.ts';
import type { LookUpResult } from './catalog/look-up-definition.ts';
import { type DomainBase, findDomainBases } from './catalog/ordered-types.ts';
import { findTypeParts } from './catalog/type-parts.ts';
import type { CatalogType } from './column-types.ts';
import { type TypeNode, typeWidths } from './type-width.ts';

/** Completes the answer. Takes a round trip if it contains domains or other types that contain types. */
export async function completeLookUp(client: ClientBase, found: LookUpResult): Promise<Found> {
  const { types, functions = [], sequences = [], targets = [], relations = [] } = found;
  const result = { ...found, types: types ?? [], functions, sequences, targets, relations };
  await resolveParts(client, result);
  return result;
}

export type Found = {
  [Key in keyof LookUpResult]-?: Key extends 'schema' | 'existing'
    ? LookUpResult[Key]
    : NonNullable<LookUpResult[Key]>;
};

/** Returns the functions that were found, as `schema.name`. */
export function namesOfFunctions({ functions }: Found): string[] {
  return functions.filter((name) => name !== null).map(({ schema, name }) => `${schema}.${name}`);
}

/**
 * Gives domains their base types, and other types that were created in the database their widths. Takes a round trip if there are any.
 *
 * @throws AppError `write-conflict` if another session has dropped one of the domains since they were looked up
 */
async function resolveParts(client: ClientBase, found: Found): Promise<void> {
  const domains = found.types.filter((type) => type !== null).filter((type) => type.kind === 'd');
  const columns = found.targets.flatMap(
    (target) => target?.columns.filter((column) => column.isDomain) ?? [],
  );
  const oids = [...domains, ...columns].map((entry) => entry.baseOid);
  const wide = found.types.filter((type) => type !== null && hasUnknownWidth(type)) as CatalogType[];
  if (oids.length === 0 && wide.length === 0) return;
  const [based, contained] = await pipeline(client, [
    findDomainBases(oids),
    findTypeParts(wide.map(({ oid }) => oid)),
  ]);
  const widthOf = typeWidths(contained!.rows[0].nodes as TypeNode[]);
  for (const type of wide) type.width = widthOf(type.oid, -1);
  const { bases } = based!.rows[0] as { bases: Record<string, DomainBase> };
  if (oids.some((oid) => bases[oid] === undefined)) throw domainDropped();
  for (const domain of domains) Object.assign(domain, bases[domain.baseOid]);
  for (const column of columns) column.baseOid = bases[column.baseOid]!.baseOid;
}

/** Returns whether the width of the type must be looked up. It need not for PostgreSQL's own types, whose widths are known, and for an enum type, which contains no other types. */
function hasUnknownWidth({ oid, kind }: CatalogType): boolean {
  return kind === 'd' || kind === 'c' || (oid >= firstOwnOid && kind !== 'e');
}

function domainDropped(): AppError {
  const detail =
    'Another session dropped a domain that the definition uses at the same moment; send the request again.';
  return new AppError('write-conflict', detail);
}
