import type { Pool } from 'pg';
import type { Config, TokenSettings } from '../config.ts';

/** What the routes need of the running service. */
export interface HttpContext {
  config: Config;
  pool: Pool;
  tokens: TokenSettings;
  /** False while the service starts and stops. */
  isReady: () => boolean;
  /** Aborted when the service must end what is still under way. */
  stopping: AbortSignal;
}
