/**
 * Sends a span for each request to an OpenTelemetry collector, if the standard environment variables name one.
 *
 * The packages of OpenTelemetry are not installed with the service. They are loaded only in this case.
 */
import type { SpanContext } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { Environment } from '../../core/settings/config.ts';
import type { Log } from '../../postgres/log.ts';
import type { RequestSpan, Tracing } from '../http/observing/trace-requests.ts';

/** How long the service waits for the last spans when it stops. */
const stopMs = 3000;

/** The shortest time between two log lines about lost spans. */
const failureMs = 300_000;

const packages = '@opentelemetry/sdk-trace @opentelemetry/exporter-trace-otlp-proto';

/**
 * Starts to send spans.
 *
 * @param load loads the packages
 * @returns undefined: no variable names a collector, or sending is not possible, which is logged
 */
export async function startTracing(
  environment: Environment,
  log: Log,
  load: () => Promise<Packages> = loadPackages,
): Promise<Tracing | undefined> {
  const variable = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'].find((name) =>
    environment[name]?.trim(),
  );
  const isOff = environment.OTEL_SDK_DISABLED === 'true' || environment.OTEL_TRACES_EXPORTER === 'none';
  if (variable === undefined || isOff) return undefined;
  const protocol =
    environment.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ||
    environment.OTEL_EXPORTER_OTLP_PROTOCOL ||
    'http/protobuf';
  if (protocol !== 'http/protobuf') {
    log.warn(
      { protocol },
      `No traces are sent: the service sends them as http/protobuf only, and the environment asks for ${protocol}`,
    );
    return undefined;
  }
  try {
    return openTracing(await load(), log);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    log.warn(
      { variable },
      `No traces are sent: ${variable} is set, but the packages of OpenTelemetry are not installed. Run "npm install --no-save ${packages}"`,
    );
    return undefined;
  }
}

interface Packages {
  api: typeof import('@opentelemetry/api');
  sdk: typeof import('@opentelemetry/sdk-trace');
  resources: typeof import('@opentelemetry/resources');
  exporter: typeof import('@opentelemetry/exporter-trace-otlp-proto');
}

async function loadPackages(): Promise<Packages> {
  const [api, sdk, resources, exporter] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/exporter-trace-otlp-proto'),
  ]);
  return { api, sdk, resources, exporter };
}

function openTracing({ api, sdk, resources, exporter }: Packages, log: Log): Tracing {
  const { envDetector, detectResources, resourceFromAttributes } = resources;
  // This name applies only if neither OTEL_SERVICE_NAME nor OTEL_RESOURCE_ATTRIBUTES sets one.
  const named = resourceFromAttributes({ 'service.name': 'tablewright' });
  const provider = new sdk.TracerProvider({
    resource: named.merge(detectResources({ detectors: [envDetector] })),
    // If the caller sends a trace, its decision whether to record applies here, too. All other requests are recorded.
    sampler: new sdk.ParentBasedSampler({ root: new sdk.AlwaysOnSampler() }),
    spanProcessors: [
      new sdk.BatchSpanProcessor({ exporter: loggingFailures(new exporter.OTLPTraceExporter(), log) }),
    ],
  });
  const tracer = provider.getTracer('tablewright');
  const answered = (request: RequestSpan): void => {
    const { method, route, status, requestId, code, startedAt, durationMs, parent } = request;
    const context = parent ? api.trace.setSpanContext(api.ROOT_CONTEXT, contextOf(parent)) : api.ROOT_CONTEXT;
    const options = {
      kind: api.SpanKind.SERVER,
      startTime: startedAt,
      attributes: {
        'http.request.method': method,
        ...(route !== undefined && { 'http.route': route }),
        'http.response.status_code': status,
        'tablewright.request_id': requestId,
        ...(code !== undefined && { 'error.type': code }),
      },
    };
    const span = tracer.startSpan(route === undefined ? method : `${method} ${route}`, options, context);
    if (status >= 500) span.setStatus({ code: api.SpanStatusCode.ERROR });
    span.end(startedAt + durationMs);
  };
  const contextOf = (parent: NonNullable<RequestSpan['parent']>): SpanContext => ({
    traceId: parent.traceId,
    spanId: parent.parentId,
    traceFlags: parent.isSampled ? api.TraceFlags.SAMPLED : api.TraceFlags.NONE,
    isRemote: true,
  });
  return { answered, stop: () => within(stopMs, provider.shutdown()) };
}

/** Makes an exporter log that spans were lost: the first time, and then at most once in `failureMs`. */
function loggingFailures(exporter: SpanExporter, log: Log): SpanExporter {
  const send = exporter.export.bind(exporter);
  let lost = 0;
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  return Object.assign(exporter, {
    export: (spans, done) =>
      send(spans, (result) => {
        // Any other code than 0 (ExportResultCode.SUCCESS) means that the spans were lost.
        if (result.code !== 0) {
          lost += spans.length;
          const now = performance.now();
          if (now - loggedAtMs > failureMs) {
            const reason = result.error?.message;
            log.warn({ reason, spans: lost }, 'Spans could not be sent to the OpenTelemetry collector');
            loggedAtMs = now;
            lost = 0;
          }
        }
        done(result);
      }),
  } satisfies Partial<SpanExporter>);
}

/** Waits for the promise, but not longer than the limit, because the service must also stop if the collector does not answer. */
async function within(timeoutMs: number, promise: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, timeoutMs);
  await Promise.race([promise.catch(() => {}), late.promise]);
  clearTimeout(timer);
}
