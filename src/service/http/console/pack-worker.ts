/** The thread that packs the console. It ends when it has sent the files. */
import { parentPort, workerData } from 'node:worker_threads';
import { packConsole } from './pack-console.ts';

parentPort!.postMessage(await packConsole(workerData as string));
