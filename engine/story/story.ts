/** What one request has gone through: plain data, with nothing secret in it (docs/explain.md). */

/** Microseconds since the request began. */
type Micros = number

export type StoryStep =
  | { readonly at: Micros; readonly step: 'listener'; readonly name: string; readonly port: number }
  | {
      readonly at: Micros
      readonly step: 'route'
      /** Null: none has been found, because of `code`. */
      readonly name: string | null
      readonly rule: string | null
      readonly match: string | null
      readonly code: string | null
    }
  | {
      readonly at: Micros
      readonly step: 'policy'
      readonly policy: string
      /** Its place in the configuration. */
      readonly place: string
      readonly side: 'request' | 'response'
      /** answers: the request ends here. fails: a broken invariant, which the log has. */
      readonly verdict: 'passes' | 'answers' | 'fails'
      readonly took: Micros
      /** Why it has ended the request. */
      readonly detail: string | null
      /** Its expressions, each with what it has read. */
      readonly expressions: readonly string[]
    }
  | {
      readonly at: Micros
      readonly step: 'backend'
      /** Drawn of several by their weights. */
      readonly name: string
      readonly shares: readonly Share[]
      readonly why: string
    }
  | CallStep
  | AttemptStep
  | { readonly at: Micros; readonly step: 'first byte'; readonly status: number }
  | { readonly at: Micros; readonly step: 'retry'; readonly why: string }

/** Of all requests, as weights say, in percent. */
export interface Share {
  readonly backend: string
  readonly percent: number
}

/** A service was asked by a policy, or by a guard of the backend. */
export interface CallStep {
  readonly at: Micros
  readonly step: 'call'
  readonly service: string
  /** `POST /envoy.service.auth.v3.Authorization/Check`. */
  readonly request: string
  /** Null: it went on when the request was over. */
  took: Micros | null
  /** ok: an answer, whatever it says. status: of gRPC, other than 0. Else why there is none. */
  result: string | null
}

export interface AttemptStep {
  readonly at: Micros
  readonly step: 'attempt'
  readonly number: number
  readonly backend: string | null
  /** Name of the destination. */
  readonly endpoint: string
  /** ip:port that was tried last; null: none. */
  address: string | null
  /** What has led to it. */
  readonly why: string
  /** How the address was chosen. */
  readonly balancing: string | null
}

export interface Story {
  /** Of the armed trace. */
  readonly id: string
  /** ISO time of its beginning. */
  readonly startedAt: string
  readonly requestId: string
  readonly request: {
    readonly method: string
    readonly url: string
    readonly httpVersion: string
    readonly from: string
  }
  readonly steps: readonly StoryStep[]
  /** When it was over. */
  readonly took: Micros
  readonly status: number
  /** Code of docs/rejections.md; null: the gateway has not refused it. */
  readonly code: string | null
  readonly detail: string | null
  readonly backend: string | null
  readonly bytes: { readonly received: number; readonly sent: number }
  readonly llm: {
    readonly provider: string | null
    readonly operation: string | null
    readonly requestModel: string | null
    readonly responseModel: string | null
    readonly inputTokens: number | null
    readonly outputTokens: number | null
    readonly totalTokens: number | null
    /** Of all attempts, as decimal text of the currency; null: not known, or not worked out. */
    readonly cost: string | null
    /** What it rests on (docs/prices.md). */
    readonly costBasis: string | null
    /** Why there is none. */
    readonly costUnknown: string | null
    /** hit, miss, bypass; null: answers are not kept. */
    readonly cache: string | null
  } | null
  readonly mcp: {
    readonly method: string | null
    readonly target: string | null
    readonly item: string | null
    readonly errorCode: number | null
  } | null
  /** What of it is missing here. */
  readonly notes: readonly string[]
}
