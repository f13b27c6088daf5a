/**
 * `DATABASE_URL=postgresql://… npm run image`: lays out the files of the container image in a temporary folder, starts the service
 * there as an ordinary user, uses it and prints figures. It creates three tables, whose names begin with `image_`.
 */
import process from 'node:process';
import { inImage } from './image/in-image.ts';

const databaseUrl = process.env.DATABASE_URL;
if (!databaseUrl) {
  process.stderr.write('Set DATABASE_URL to a PostgreSQL in which tables may be created.\n');
  process.exitCode = 2;
} else {
  const { bytes, readyMs, processorMs } = await inImage(databaseUrl);
  const list = (numbers: number[]) => numbers.map((ms) => `${Math.round(ms)} ms`).join(', ');
  process.stdout.write(
    `The image has ${(bytes / 1e6).toFixed(1)} MB without Node.js. The service was ready after ${list(readyMs)}, with ${list(processorMs)} of processor time.\n`,
  );
}
