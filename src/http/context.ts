import type { Pool } from 'pg';
import type { Config, TokenSettings } from '../config.ts';
import type { ReaderSlots } from '../sources/spreadsheet/legacy/reader-slots.ts';
import type { UploadSlots } from './upload-slots.ts';

/** What the routes need of the running service. */
export interface HttpContext {
  config: Config;
  pool: Pool;
  tokens: TokenSettings;
  uploadSlots: UploadSlots;
  /** The processes that read .xls files. */
  readerSlots: ReaderSlots;
  /** False while the service starts and stops. */
  isReady: () => boolean;
  /** Aborted when the service must end what is still under way. */
  stopping: AbortSignal;
}
