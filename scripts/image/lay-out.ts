/**
 * Lays out the files of the image in a folder, by the commands of the Dockerfile, for machines without a container engine.
 *
 * Commands run without a new root, so they must use paths that are relative to WORKDIR. The image that a stage begins with is
 * only its Node.js: npm and the shell are those of the machine.
 */
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readFile, rename } from 'node:fs/promises';
import { dirname, join, matchesGlob, relative } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { environmentOf, execForm, type Instruction, readDockerfile, type Stage } from './dockerfile.ts';

export interface User {
  uid: number;
  gid: number;
}

export interface Image {
  /** The folder that is `/` in a container. */
  root: string;
  /** WORKDIR as a folder of this machine. */
  folder: string;
  environment: Record<string, string>;
  command: string[];
  healthCheck: string[];
  /** Whether the image has a USER other than root. */
  isForOrdinaryUser: boolean;
}

const run = promisify(execFile);
const project = join(import.meta.dirname, '..', '..');
const commandTimeoutMs = 300_000;

/** The variables of this process that commands need: where programs are, and how npm reaches its registry. */
const inherited =
  /^(PATH|HOME|npm_config_(registry|cache|userconfig)|(https?|no)_proxy|NODE_EXTRA_CA_CERTS)$/i;

/**
 * Lays out the image.
 *
 * @param folder an empty folder that the user can reach
 * @param user runs the commands after USER; undefined: the user of this process
 */
export async function layOutImage(folder: string, user: User | undefined): Promise<Image> {
  const stages = readDockerfile(await readFile(join(project, 'Dockerfile'), 'utf8'));
  const isIgnored = await readIgnored();
  const root = join(folder, 'root');
  for (const stage of stages) {
    const image = await layOutStage(stage, { folder, root, user, isIgnored });
    if (stage === stages.at(-1)) return image;
    // Each stage is laid out at the same path, because compiled modules are found by their paths.
    await rename(root, join(folder, stage.name!));
  }
  throw new Error('the Dockerfile has no stage');
}

interface Layout {
  folder: string;
  root: string;
  user: User | undefined;
  isIgnored: (path: string) => boolean;
}

async function layOutStage(stage: Stage, layout: Layout): Promise<Image> {
  const { root } = layout;
  await layOutBase(stage.base, root);
  const image: Image = {
    root,
    folder: root,
    environment: {},
    command: [],
    healthCheck: [],
    isForOrdinaryUser: false,
  };
  for (const instruction of stage.instructions) await apply(instruction, image, layout);
  return image;
}

/** Copies Node.js to the place that it has in the official images. */
async function layOutBase(base: string, root: string): Promise<void> {
  const major = process.versions.node.split('.')[0];
  if (!base.startsWith(`node:${major}-`)) throw new Error(`${base} is not an image of Node.js ${major}`);
  await mkdir(join(root, 'usr', 'local', 'bin'), { recursive: true });
  await cp(process.execPath, join(root, 'usr', 'local', 'bin', 'node'));
  await chmod(join(root, 'usr', 'local', 'bin', 'node'), 0o755);
}

async function apply({ name, options, rest }: Instruction, image: Image, layout: Layout): Promise<void> {
  if (name === 'WORKDIR') {
    image.folder = join(image.root, rest);
    await mkdir(image.folder, { recursive: true });
  } else if (name === 'ENV') Object.assign(image.environment, environmentOf(rest));
  else if (name === 'USER') image.isForOrdinaryUser = !/^(root|0)\b/.test(rest);
  else if (name === 'CMD') image.command = execForm(rest);
  else if (name === 'HEALTHCHECK') image.healthCheck = execForm(rest);
  else if (name === 'COPY') await copy(rest.split(/\s+/), options.from, image, layout);
  else if (name === 'RUN') await runCommand(rest, image, layout);
}

async function copy(
  paths: string[],
  from: string | undefined,
  image: Image,
  { folder, isIgnored }: Layout,
): Promise<void> {
  const target = paths.at(-1)!;
  for (const path of paths.slice(0, -1)) {
    const source = from === undefined ? join(project, path) : join(folder, from, path);
    // A file is copied into a folder; the content of a folder is copied.
    const to = target === './' && from === undefined ? join(image.folder, path) : join(image.folder, target);
    await mkdir(dirname(to), { recursive: true });
    const isCopied = (file: string) => from !== undefined || !isIgnored(relative(project, file));
    await cp(source, to, { recursive: true, verbatimSymlinks: true, filter: isCopied });
  }
}

async function runCommand(command: string, image: Image, { user }: Layout): Promise<void> {
  await run('sh', ['-c', command], {
    cwd: image.folder,
    env: imageEnvironment(image),
    timeout: commandTimeoutMs,
    ...(image.isForOrdinaryUser && user),
  });
}

/** Returns the environment of a process in the image. */
export function imageEnvironment({ root, environment }: Image): Record<string, string | undefined> {
  const ours = Object.entries(process.env).filter(([name]) => inherited.test(name));
  const path = `${join(root, 'usr', 'local', 'bin')}:${process.env.PATH}`;
  return { ...Object.fromEntries(ours), PATH: path, ...environment };
}

/** Returns whether .dockerignore leaves out a path: the last pattern decides that matches the path or a folder above it. */
async function readIgnored(): Promise<(path: string) => boolean> {
  const lines = (await readFile(join(project, '.dockerignore'), 'utf8')).split('\n');
  const patterns = lines.filter((line) => line !== '' && !line.startsWith('#'));
  const matches = (path: string, pattern: string): boolean =>
    path !== '.' && (matchesGlob(path, pattern) || matches(dirname(path), pattern));
  return (path) => {
    const isAbove = patterns.some((pattern) => pattern.startsWith(`!${path}/`));
    const last = patterns.findLast((pattern) => matches(path, pattern.replace(/^!/, '')));
    return path !== '' && !isAbove && last !== undefined && !last.startsWith('!');
  };
}
