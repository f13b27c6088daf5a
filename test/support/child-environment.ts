/** The environment variables that a process of a test needs. Settings of the service in the test's own environment do not reach it. */

/**
 * For the program of the service. It uses a cache of compiled modules of its own: V8 does not use code that was compiled with other flags, and a
 * process with other flags would replace the code in a common cache each time.
 */
export function serviceEnvironment(): Record<string, string | undefined> {
  return { PATH: process.env.PATH };
}

/** For other programs of the project. They use the cache of the tests, because both run without flags of V8. */
export function scriptEnvironment(): Record<string, string | undefined> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return { PATH, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) };
}
