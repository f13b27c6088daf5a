/**
 * The waiting lines of the service. Uploads, creates and descriptions have separate places, so that no kind of request can use
 * all connections to PostgreSQL. In each line the subject of a token has only some of the places if others need them.
 *
 * A request that is refused because of other requests of its caller is answered with 429, and otherwise with 503. Files wait for memory in
 * a line of their own.
 */

import { AppError } from '../../../core/errors.ts';
import { amountInWords, limitDetail, limitInWords } from '../../../core/limit-exceeded.ts';
import type { Config, LimitsConfig } from '../../../core/settings/config.ts';
import { longRowBytes } from '../../../encoding/sink/encoding-sink.ts';
import { MemoryBudget } from '../../../readers/spreadsheet/memory-budget.ts';
import { StreamPlaces } from './stream-places.ts';
import { type Refusal, WaitingLine } from './waiting-line.ts';

export interface Lines {
  uploads: WaitingLine;
  /** The line for appends of few rows, which do not wait for other uploads. */
  smallUploads: WaitingLine;
  creates: WaitingLine;
  /** The line for creates with a large definition, because reading and checking it takes long. */
  largeCreates: WaitingLine;
  /** The line for bodies that are held in memory while they arrive (held-body.ts). */
  bodies: WaitingLine;
  /** The line for uploads and repaired files in a row that takes much memory. They keep their place in another line meanwhile. */
  longRows: WaitingLine;
  describes: WaitingLine;
  /** The line for exports, which have connections of their own. */
  exports: WaitingLine;
  /** The places for streams of events. */
  streams: StreamPlaces;
}

/** The seconds in `Retry-After`. The number is fixed, because the service cannot know when a running request ends. */
const headers = { 'retry-after': '5' };

/**
 * The maximum number of waiting creates, and of waiting descriptions. The number of creates matters because each one keeps a body
 * of at most MAX_DEFINITION_BYTES in memory.
 */
const maxShortWaiting = 100;
const shortWaitMs = 10_000;
/** The longest wait of a large definition: about the time that a full line of them takes. */
const largeWaitMs = 60_000;
/**
 * The maximum number of connections that requests for one table use at a time. They may all wait for the same lock, and must not
 * use up the connections that requests for other tables need.
 */
const placesPerTable = 2;

/** The maximum number of streams of events at the same time. */
const maxStreams = 200;
const maxStreamsPerCaller = 20;

/** The maximum number of exports at the same time, and of the connections that only they use. */
export const maxExports = 4;

/** The maximum number of large bodies that are held in memory while they arrive. */
const maxHeldBodies = 32;
/** How long a large body waits before a caller with more of them loses a place. Most bodies arrive in less time. */
const displaceBodyAfterMs = 1000;

/** The maximum number of uploads that are in a long row at the same time. */
const maxLongRows = 2;
/** A client may send a row slowly. */
const longRowsPerCaller = 1;
/** The longest wait for such a place: several rows of 64 MiB that come over a slow network. */
const longRowWaitMs = 60_000;

/** Definitions over this length are read one after the other. */
export const largeDefinitionBytes = 64 * 1024;

export function createLines({ database, limits }: Pick<Config, 'database' | 'limits'>): Lines {
  // The connections of the pool that uploads do not use. Health checks have a separate connection.
  const left = database.poolSize - limits.maxUploads - limits.maxSmallUploads;
  const shortLine = (places: number, waitMs = shortWaitMs): WaitingLine =>
    new WaitingLine({
      places: Math.max(1, places),
      placesPerCaller: placesOfOne(places),
      placesPerTable,
      maxWaiting: maxShortWaiting,
      waitMs,
      refusal: ({ isOwn }) => (isOwn ? tooManyAtOnce() : databaseBusy()),
    });
  return {
    uploads: new WaitingLine({
      places: limits.maxUploads,
      placesPerCaller: limits.maxUploadsPerSubject,
      maxWaiting: limits.maxWaitingUploads,
      waitMs: limits.uploadWaitMs,
      refusal: (reason) => tooManyUploads(limits, reason),
    }),
    smallUploads: new WaitingLine({
      places: limits.maxSmallUploads,
      placesPerCaller: placesOfOne(limits.maxSmallUploads),
      maxWaiting: limits.maxWaitingUploads,
      waitMs: limits.uploadWaitMs,
      refusal: (reason) => tooManySmallUploads(limits, reason),
    }),
    creates: shortLine(Math.floor(left / 2) - 1),
    largeCreates: shortLine(1, largeWaitMs),
    bodies: new WaitingLine({
      places: maxHeldBodies,
      placesPerCaller: placesOfOne(maxHeldBodies),
      maxWaiting: maxShortWaiting,
      waitMs: shortWaitMs,
      displaceAfterMs: displaceBodyAfterMs,
      refusal: ({ isOwn }) => (isOwn ? tooManyAtOnce() : tooManyBodies()),
    }),
    longRows: new WaitingLine({
      places: maxLongRows,
      placesPerCaller: longRowsPerCaller,
      maxWaiting: maxShortWaiting,
      waitMs: longRowWaitMs,
      refusal: tooManyLongRows,
    }),
    describes: shortLine(Math.ceil(left / 2)),
    exports: new WaitingLine({
      places: maxExports,
      placesPerCaller: placesOfOne(maxExports),
      maxWaiting: maxShortWaiting,
      waitMs: shortWaitMs,
      refusal: tooManyExports,
    }),
    streams: new StreamPlaces({
      places: maxStreams,
      placesPerCaller: maxStreamsPerCaller,
      refusal: tooManyStreams,
    }),
  };
}

/** Returns the memory for files. A file waits as long as an upload does, because it keeps the place of its upload meanwhile. */
export function createMemoryBudget(limits: LimitsConfig): MemoryBudget {
  const { maxFileMemoryBytes, maxLegacyReaders, uploadWaitMs } = limits;
  return new MemoryBudget({
    maxBytes: maxFileMemoryBytes,
    maxReaders: maxLegacyReaders,
    waitMs: uploadWaitMs,
    refusal: (wanted) => noMemoryForFile(limits, wanted),
  });
}

/** Returns how many places one caller may use: all but one, so that another caller always finds a place, but at least two if there are two. */
function placesOfOne(places: number): number {
  return Math.max(Math.min(2, places), places - 1, 1);
}

/** Returns the key of a table. It uses NUL as a separator, because names cannot contain it. */
export function tableKey({ schema, name }: { schema: string; name: string }): string {
  return `${schema}\0${name}`;
}

function tooManyUploads(limits: LimitsConfig, { hasPlaces, isLineFull }: Refusal): AppError {
  const places = hasPlaces
    ? limitDetail("Too many uploads of the access token's subject are running", limits.maxUploadsPerSubject, {
        setting: 'MAX_UPLOADS_PER_SUBJECT',
      })
    : limitDetail('Too many uploads are running', limits.maxUploads, { setting: 'MAX_UPLOADS' });
  const detail = `${places} ${endOfWait(limits, isLineFull)}`;
  return new AppError('too-many-uploads', detail, {
    headers: { ...headers, ...rateLimit(limits, hasPlaces ? 'uploads-per-subject' : 'uploads') },
  });
}

function tooManySmallUploads(limits: LimitsConfig, { isOwn, isLineFull }: Refusal): AppError {
  const whose = isOwn ? " of the access token's subject" : '';
  const setting = { setting: 'MAX_SMALL_UPLOADS' } as const;
  const places = limitDetail(`Too many small uploads${whose} are running`, limits.maxSmallUploads, setting);
  return new AppError('too-many-uploads', `${places} ${endOfWait(limits, isLineFull)}`, { headers });
}

function noMemoryForFile(limits: LimitsConfig, wanted: 'memory' | 'reader'): AppError {
  const { maxFileMemoryBytes, maxLegacyReaders } = limits;
  const setting = { setting: 'MAX_FILE_MEMORY_BYTES' } as const;
  const memory = limitInWords(maxFileMemoryBytes, setting);
  const readers = limitInWords(maxLegacyReaders, { setting: 'MAX_LEGACY_READERS' });
  const what =
    wanted === 'memory'
      ? `Other files take the memory that this one may need: the limit for all is ${memory}.`
      : `Other .xls workbooks or Parquet files are being read: the limits for all files are ${readers} and ${memory}.`;
  return new AppError('too-many-uploads', `${what} ${endOfWait(limits, false)}`, { headers });
}

function endOfWait(limits: LimitsConfig, isLineFull: boolean): string {
  const line = isLineFull
    ? `${limitInWords(limits.maxWaitingUploads, { setting: 'MAX_WAITING_UPLOADS' })} are already waiting.`
    : `No place became free within ${limitInWords(limits.uploadWaitMs, { setting: 'UPLOAD_WAIT_MS' })}.`;
  return `${line} Try again later.`;
}

/** Returns the header fields of draft-ietf-httpapi-ratelimit-headers: the quotas for all uploads and for those of one subject, and which of them is used up. */
function rateLimit(
  { maxUploads, maxUploadsPerSubject }: LimitsConfig,
  usedUp: 'uploads' | 'uploads-per-subject',
): Record<string, string> {
  const quota = (name: string, uploads: number) => `"${name}";q=${uploads};qu="concurrent-requests"`;
  return {
    'ratelimit-policy': `${quota('uploads', maxUploads)}, ${quota('uploads-per-subject', maxUploadsPerSubject)}`,
    ratelimit: `"${usedUp}";r=0;t=${headers['retry-after']}`,
  };
}

function tooManyStreams({ isOwn }: Pick<Refusal, 'isOwn'>): AppError {
  const limit = isOwn
    ? limitDetail('The caller has too many streams open', maxStreamsPerCaller, 'streams')
    : limitDetail('Too many streams are open', maxStreams, 'streams');
  const own = isOwn ? 'Close one, or try' : 'Try';
  const detail = `${limit} ${own} again after the seconds in Retry-After.`;
  return new AppError(isOwn ? 'too-many-requests' : 'service-busy', detail, { headers });
}

function tooManyExports({ isOwn }: Refusal): AppError {
  const limit = isOwn
    ? limitDetail(
        "Too many exports of the access token's subject are running",
        placesOfOne(maxExports),
        'exports',
      )
    : limitDetail('Too many exports are running', maxExports, 'exports');
  return new AppError(
    isOwn ? 'too-many-requests' : 'service-busy',
    `${limit} Try again after the seconds in Retry-After.`,
    {
      headers,
    },
  );
}

function tooManyAtOnce(): AppError {
  return new AppError(
    'too-many-requests',
    "Too many requests of the access token's subject run or wait at the same time. Wait for their answers before you send more.",
    { headers },
  );
}

/** Returns the error for a large body that is given up, because another subject needs its place. */
export function bodyDisplaced(): AppError {
  const detail =
    "The access token's subject sends more large definitions and plans at the same time than others, who wait for a place. Send this one again after the others have ended.";
  return new AppError('too-many-requests', detail, { headers });
}

function tooManyBodies(): AppError {
  const limit = limitDetail(
    'Too many large definitions and plans arrive at the same time',
    maxHeldBodies,
    'bodies',
  );
  return new AppError('service-busy', `${limit} Try again after the seconds in Retry-After.`, { headers });
}

function tooManyLongRows({ isOwn }: Refusal): AppError {
  const whose = isOwn ? " of the access token's subject" : '';
  const what = `Too many uploads${whose} send a row of more than ${amountInWords(longRowBytes, 'bytes')} at the same time`;
  const remedy = isOwn ? 'Send these uploads one after the other, this one' : 'Send this upload';
  const detail = `${limitDetail(what, isOwn ? longRowsPerCaller : maxLongRows, 'uploads')} ${remedy} again after the seconds in Retry-After.`;
  return new AppError('too-many-uploads', detail, { headers });
}

function databaseBusy(): AppError {
  return new AppError(
    'database-busy',
    'Too many requests of this kind are waiting for the database. Try again later.',
    { headers },
  );
}
