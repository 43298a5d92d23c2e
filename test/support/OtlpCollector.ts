/**
 * An OpenTelemetry collector on the loopback interface: accepts traces and metrics as JSON over HTTP, as in the
 * protocol https://opentelemetry.io/docs/specs/otlp/#otlphttp, and returns them in a form that a test can read.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Http from "node:http"
import * as Loopback from "./Loopback.ts"

export interface Span {
  readonly name: string
  /** 1 internal, 3 client */
  readonly kind: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly events: ReadonlyArray<{ readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }>
  readonly status: { readonly code?: number; readonly message?: string }
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly start: bigint
}

export interface Tree {
  readonly [name: string]: ReadonlyArray<Tree>
}

export interface Collector {
  readonly baseUrl: string
  /** in the order in which they began */
  readonly spans: () => ReadonlyArray<Span>
  /** the names of the metrics that arrived, once each */
  readonly metrics: () => ReadonlyArray<string>
  /** the bodies of all requests, as they arrived */
  readonly bodies: ReadonlyArray<string>
}

export const make: Effect.Effect<Collector, never, Scope.Scope> = Effect.gen(function*() {
  const bodies: Array<string> = []
  const spans: Array<Span> = []
  const metrics = new Set<string>()
  const server = Http.createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (bytes) => chunks.push(bytes))
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString()
      bodies.push(text)
      const body = JSON.parse(text)
      if (request.url === "/v1/traces") spans.push(...spansOf(body))
      if (request.url === "/v1/metrics") {
        for (const { scopeMetrics } of body.resourceMetrics) {
          for (const { metrics: found } of scopeMetrics) for (const { name } of found) metrics.add(name)
        }
      }
      response.writeHead(200, { "content-type": "application/json" }).end("{}")
    })
  })
  const host = yield* Loopback.listen(server)
  return {
    baseUrl: `http://${host}`,
    spans: () => spans.toSorted((a, b) => a.start < b.start ? -1 : a.start > b.start ? 1 : 0),
    metrics: () => [...metrics].sort(),
    bodies
  }
})

/** Spans by parent, starting with those that have none here: each as its name with its children. */
export const tree = (spans: ReadonlyArray<Span>): ReadonlyArray<Tree> => {
  const ids = new Set(spans.map(({ spanId }) => spanId))
  const below = (parent: string | undefined): ReadonlyArray<Tree> =>
    spans
      .filter(({ parentSpanId: id }) => parent === undefined ? id === undefined || !ids.has(id) : id === parent)
      .map(({ name, spanId }) => ({ [name]: below(spanId) }))
  return below(undefined)
}

const spansOf = (body: any): ReadonlyArray<Span> =>
  body.resourceSpans.flatMap(({ scopeSpans }: any) =>
    scopeSpans.flatMap(({ spans }: any) =>
      spans.map((span: any): Span => ({
        name: span.name,
        kind: span.kind,
        attributes: attributesOf(span.attributes),
        events: span.events.map(({ attributes, name }: any) => ({ name, attributes: attributesOf(attributes) })),
        status: span.status,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId || undefined,
        start: BigInt(span.startTimeUnixNano)
      }))
    )
  )

const attributesOf = (attributes: ReadonlyArray<{ key: string; value: unknown }> = []): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]))

const valueOf = (value: any): unknown => {
  if ("arrayValue" in value) return value.arrayValue.values.map(valueOf)
  if ("intValue" in value) return Number(value.intValue)
  return value.stringValue ?? value.doubleValue ?? value.boolValue
}
