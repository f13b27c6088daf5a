/** The address of the service without a trailing slash. The console is served at the root of the service, which may be a path of a proxy. */
export const serviceUrl = new URL('.', location.href).href.replace(/\/$/, '');
