/** The address of the service without a trailing slash. The console is served at the root of the service, which may be a path of a proxy. */
export const serviceUrl = new URL('.', location.href).href.replace(/\/$/, '');

/** The address of the example. It is relative to this module, and to the joined file that contains it: both are in the same folder. */
export const exampleUrl = new URL('../examples/visits.xlsx', import.meta.url);
