/** What would become of a request: plain data, with nothing secret in it (docs/explain.md). */
import type { CallExplanation } from '#engine/contract/call-explanation.ts'
import type { ShownHeader } from '#engine/story/shown.ts'
import type { Share } from '#engine/story/story.ts'

/** A part of the configuration: its path in it, and where that was written (`weir.yaml:41:7`; null: nobody knows). */
export interface Placed {
  readonly path: string
  readonly source: string | null
}

export interface Explanation {
  readonly request: {
    readonly method: string
    readonly url: string
    /** As agreed with the listener: '1.1' or '2'. */
    readonly httpVersion: string
    readonly from: string
  }
  /** Null: no connection gets to one. */
  readonly listener: (Placed & { readonly name: string; readonly port: number; readonly hostname: string }) | null
  readonly otherListeners: readonly (Placed & { readonly name: string; readonly why: string })[]
  readonly route: (Placed & { readonly name: string; readonly match: string }) | null
  /** The nearest of the others first. */
  readonly otherRoutes: readonly (Placed & { readonly name: string; readonly why: string })[]
  /** In the order in which they act. */
  readonly policies: readonly PolicyStep[]
  /** Of the gateway, that the client has shown; null: none was found. */
  readonly key: ShownKey | null
  readonly upstream: Upstream | null
  readonly outcome: Outcome
  /** What an answer from here depends on. */
  readonly notes: readonly string[]
}

/**
 * passes: the request goes on. answers: it ends here. asks: a service decides, which has not been asked; what follows
 * holds if it allows. setting: it is read by the engine, and has no verdict. response: it acts on the answer alone.
 * unreached: the request has ended before.
 */
export type PolicyVerdict = 'passes' | 'answers' | 'asks' | 'setting' | 'response' | 'unreached'

export interface PolicyStep {
  readonly policy: string
  readonly phase: 'PreRouting' | 'PostRouting'
  readonly places: readonly Placed[]
  readonly verdict: PolicyVerdict
  /** Why it has ended the request. */
  readonly detail: string | null
  /** Its expressions, each with what it has read. */
  readonly expressions: readonly string[]
  /** What it has done to the request: `sets x-team`. */
  readonly changes: readonly string[]
  /** What would be asked, and of whom. */
  readonly asks: readonly string[]
  /** Buckets of limits, of which nothing was taken. */
  readonly limits: readonly string[]
}

/** A key that a client has shown: who it is, never the key. What is used of limits and budgets is not known. */
export interface ShownKey {
  readonly id: string
  readonly owner: string | null
  readonly team: string | null
  readonly organisation: string | null
  /** By the client's name for it; null: none was asked for. */
  readonly model: { readonly name: string; readonly isAllowed: boolean; readonly refusedBy: readonly string[] } | null
  /** `of`: "team research". */
  readonly limits: readonly {
    readonly of: string
    readonly limit: string
    /** Requests or tokens; null: it is not known. */
    readonly left: number | null
  }[]
  readonly budgets: readonly {
    readonly of: string
    readonly budget: string
    /** What is not spent, nor set aside: decimal text; null: it is not known. */
    readonly left: string | null
  }[]
  /** Decimal text of the currency; null: nothing is. */
  readonly setAside: string | null
}

export interface Upstream extends Placed {
  readonly backend: string
  readonly kind: string
  /** Of the attempt; null: what is asked first decides. */
  readonly endpoint: string | null
  /** Where it is, of which one is chosen; null: DNS is asked. */
  readonly hosts: readonly string[] | null
  readonly isTls: boolean
  readonly method: string
  readonly host: string
  readonly target: string
  readonly headers: readonly ShownHeader[]
  readonly bodyBytes: number
  /** Backends of the route with their parts of all requests, in percent. */
  readonly shares: readonly Share[]
  readonly llm: {
    readonly provider: string | null
    readonly model: string | null
    readonly operation: string | null
    /** Who is asked, why, and what it costs; null: it is not sent. */
    readonly call: CallExplanation | null
  } | null
  readonly mcp: { readonly method: string | null; readonly target: string | null; readonly item: string | null } | null
  /** What the backend would ask beside or before it. */
  readonly asks: readonly string[]
  /** Copies go to these backends. */
  readonly mirrors: readonly string[]
}

export type Outcome =
  /** It would reach its backend. */
  | { readonly kind: 'upstream' }
  /** The gateway answers. `code` of docs/rejections.md; null: it is no refusal. */
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly code: string | null
      /** Of JSON-RPC, whose errors may have status 200; null: none. */
      readonly mcpErrorCode: number | null
      readonly detail: string | null
      /** Which policy; null: none. */
      readonly policy: string | null
      readonly headers: readonly ShownHeader[]
      readonly body: string
    }
  /** There is no HTTP answer. */
  | { readonly kind: 'connection'; readonly detail: string }
  /** It was not decided in time. */
  | { readonly kind: 'undecided'; readonly detail: string }

/** Of a program that explains: 0 where a backend or the gateway would serve the request, else 1. */
export function exitCodeOf({ outcome }: Explanation): number {
  if (outcome.kind === 'answer') return outcome.status < 400 && outcome.mcpErrorCode === null ? 0 : 1
  return outcome.kind === 'upstream' ? 0 : 1
}
