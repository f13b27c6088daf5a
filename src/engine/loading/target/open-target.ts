/** Finds, creates or opens the table of an upload, and compares an existing table with what the request says about it. */
import type { ClientBase } from 'pg';
import { AppError, maxListedProblems, wrongParameter } from '../../../core/errors.ts';
import type { TypeInference } from '../../../encoding/infer/infer-types.ts';
import { quoteQualified } from '../../../postgres/sql.ts';
import { inTransaction, type TransactionEdges } from '../../../postgres/transaction.ts';
import { admitBelow } from '../../tables/catalog/partitions.ts';
import { compareWithExisting } from '../../tables/compare-definition.ts';
import { tableExists, uploadRemedies } from '../../tables/create-table.ts';
import { describeTable, isTable } from '../../tables/describe-table.ts';
import {
  findLoadTarget,
  findTarget,
  isFoundTable,
  type TargetRights,
} from '../../tables/loading/find-load-target.ts';
import { prepareTable } from '../../tables/prepare-table.ts';
import type { PreparedTable } from '../../tables/prepared-table.ts';
import { refuseDependents } from '../../tables/replace/refuse-dependents.ts';
import type { LoadInput } from '../inputs/load-input.ts';
import { columnsToAdd, refuseUnfitColumns } from '../provenance/origin-target.ts';
import { originNames } from '../provenance/provenance.ts';
import {
  addsRows,
  changesMissingRows,
  changesOtherRows,
  type LoadContext,
  type LoadRequest,
  neededRights,
} from '../request/load-request.ts';
import type { WideningStep } from '../widening/widen-where-needed.ts';
import { sameNames } from './conflict-option.ts';
import { openExistingTable } from './existing-table.ts';
import { asKeyProblem, columnsBeside, definitionToMake } from './infer-definition.ts';
import type { LoadTarget } from './load-target.ts';
import { openNewTable } from './new-table.ts';

export interface TargetOptions {
  context: LoadContext;
  request: LoadRequest;
  input: LoadInput;
  /** A table may be created. */
  mayBeNew: boolean;
  /** An existing table is emptied already, if the request says so. Default: false. */
  isEmptied?: boolean;
  /** What is done about values that do not fit an existing table. */
  widening?: WideningStep;
}

/**
 * Returns whether the table exists, before its rows are received.
 *
 * @throws AppError `schema-not-found`, `table-not-found`, `table-exists`, `permission-denied`, `dependent-objects`, `insufficient-scope`
 */
export async function findTable({ pool, transaction }: LoadContext, request: LoadRequest): Promise<boolean> {
  const { schema, name, ifExists, admitSchema } = request;
  const needed = neededRights(request);
  const search = findTarget(schema, name, needed.privileges);
  const check = async (client: ClientBase, { begun }: TransactionEdges): Promise<boolean> => {
    const rights = begun!.rows as TargetRights[];
    if (request.mustExist && !isFoundTable(rights[0])) await describeTable(client, schema, name);
    const existing = findLoadTarget(rights, schema, name, needed, request.requireCreation);
    if (existing === undefined) return false;
    if (ifExists === 'fail') throw tableExists(schema, name, existing, uploadRemedies);
    // The dependent objects are checked again when the tables are swapped. This early check gives the caller the answer before the rows are sent.
    if (ifExists === 'replace') await refuseDependents(client, schema, name);
    if (changesOtherRows(request))
      await admitBelow(client, quoteQualified(schema, name), admitSchema, 'partitions');
    if (ifExists !== 'replace') await columnsToAdd(client, request);
    return true;
  };
  return inTransaction(pool, { ...transaction, readOnly: true }, check, search);
}

/**
 * Opens the table.
 *
 * @param inferred the types of a new table, or of columns that may be added
 * @throws AppError `table-exists`, `dependent-objects`, `invalid-definition`, `invalid-parameter` (another primary key), `write-conflict`
 */
export async function openTarget(
  client: ClientBase,
  options: TargetOptions,
  inferred: TypeInference | undefined,
): Promise<LoadTarget> {
  const { context, request, input, mayBeNew, widening } = options;
  const { schema, name, signal, ifExists, admitSchema } = request;
  const { extraFunctions, transaction } = context;
  const lock = { lockTimeoutMs: transaction.lockTimeoutMs ?? 0, signal };
  const prepared = mayBeNew ? await prepare(client, options, inferred) : undefined;
  // Another session may have created the table meanwhile: `append` and `truncate` then use it.
  if (prepared === undefined || (addsRows(request) && isTable(prepared.existing?.kind ?? ''))) {
    const truncate = ifExists === 'truncate' && options.isEmptied !== true;
    const origins = originNames(request.provenance);
    const addColumns =
      inferred && ((known: string[]) => columnsBeside([...known, ...origins], inferred.columns(), input));
    const target = await openExistingTable(client, {
      schema,
      name,
      truncate,
      admitSchema,
      addColumns,
      origins: await columnsToAdd(client, request),
      widening: Array.isArray(widening)
        ? { columns: widening, lock, beforeChange: () => refuseDisagreement(client, options) }
        : undefined,
      againstWriters: changesMissingRows(request) ? lock : undefined,
    });
    requirePrimaryKey(request, target);
    refuseUnfitColumns(request.provenance, target);
    return target;
  }
  // Another session may have dropped the table meanwhile.
  if (prepared.existing === undefined) {
    if (request.mustExist) await describeTable(client, schema, name);
    request.requireCreation();
  }
  const mayReplace = ifExists === 'replace';
  const target = await openNewTable(client, prepared, { mayReplace, ...lock, extraFunctions });
  refuseUnfitColumns(request.provenance, target);
  return target;
}

async function prepare(
  client: ClientBase,
  { context, request, input }: TargetOptions,
  inferred: TypeInference | undefined,
): Promise<PreparedTable> {
  const { schema, name, admitSchema, primaryKey } = request;
  const { extraFunctions } = context;
  const table = definitionToMake(request, input, inferred);
  try {
    return await prepareTable(client, { schema, name, admitSchema, extraFunctions, table });
  } catch (error) {
    throw primaryKey === undefined ? error : asKeyProblem(error);
  }
}

/**
 * Refuses the upload if the existing table has another primary key than the request names.
 *
 * @throws AppError `invalid-parameter`
 */
function requirePrimaryKey({ primaryKey }: LoadRequest, target: LoadTarget): void {
  if (primaryKey === undefined) return;
  if (target.primaryKey !== undefined && sameNames(target.primaryKey, primaryKey)) return;
  const has = target.primaryKey ? `the primary key (${target.primaryKey.join(', ')})` : 'no primary key';
  throw wrongParameter('primary_key', `The existing table has ${has}.`);
}

/**
 * Refuses a definition that differs from the existing table, before an upload is received as a whole. A slow client then gets the answer early.
 *
 * @throws AppError `invalid-definition`
 */
export async function refuseEarlyDisagreement(options: TargetOptions): Promise<void> {
  if (options.input.definition === undefined) return;
  const transaction = { ...options.context.transaction, rollback: true };
  try {
    await inTransaction(options.context.pool, transaction, (client) => refuseDisagreement(client, options));
  } catch (error) {
    // Another session has dropped the table meanwhile. This is not an error yet: `openTarget` decides what to do without the table.
    if (!(error instanceof AppError) || error.code !== 'table-not-found') throw error;
  }
}

/**
 * Refuses a definition that was sent with the rows and differs from the existing table.
 *
 * @throws AppError `invalid-definition`
 */
export async function refuseDisagreement(
  client: ClientBase,
  { context, request, input }: TargetOptions,
): Promise<void> {
  if (input.definition === undefined) return;
  const { schema, name, admitSchema } = request;
  const { extraFunctions } = context;
  const table = input.definition;
  const isPartial = request.extraColumns === 'add' || request.provenance !== undefined;
  const options = { schema, name, table, admitSchema, extraFunctions };
  const errors = await compareWithExisting(client, options, isPartial);
  if (errors.length === 0) return;
  throw new AppError('invalid-definition', 'The definition does not agree with the existing table.', {
    errors: errors.slice(0, maxListedProblems),
    errorCount: errors.length,
  });
}
