/** Reads the header `traceparent` (W3C Trace Context), so that log lines and spans belong to the trace of the caller. */

export interface TraceContext {
  traceId: string;
  /** The id of the caller's span. */
  parentId: string;
  /** Whether the caller records the trace. */
  isSampled: boolean;
}

const form = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** Returns the trace; undefined: the header is absent or not valid, so it is ignored (section 4.3). */
export function parseTraceparent(header: string | string[] | undefined): TraceContext | undefined {
  if (typeof header !== 'string' || header.length > 512) return undefined;
  const [, version, traceId = '', parentId = '', flags = '', rest] = form.exec(header) ?? [];
  // Version 00 has exactly four fields. Later versions may have more. Version ff is not valid.
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(parentId)) return undefined;
  return { traceId, parentId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Returns the members of each log line of the request. */
export function traceFields(header: string | string[] | undefined): Record<string, string> {
  const trace = parseTraceparent(header);
  return trace === undefined ? {} : { trace_id: trace.traceId, parent_span_id: trace.parentId };
}
