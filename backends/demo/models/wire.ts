/** What the formats of the mock provider share: what it says, and how that is put together. */

/** Whatever JSON came; each format looks at the fields that its documentation names. */
// biome-ignore lint/suspicious/noExplicitAny: a shape for each format would be a second implementation of it
export type Body = any

export type Wire = readonly (readonly [event: string | null, data: object | '[DONE]'])[]

/** The answer to one request: whole, or as events. */
export interface MockAnswer {
  readonly status: number
  readonly whole: object
  /** Null: not streamed. */
  readonly events: Wire | null
}

export const PIECES = ['Hello, ', 'world'] as const
export const TEXT = PIECES.join('')
/** What the first tool of a request is called with. */
export const TOOL_ARGUMENTS = '{"city":"Paris"}'
/** As a model would bring them, in pieces. */
export const ARGUMENT_PIECES = [TOOL_ARGUMENTS.slice(0, 5), TOOL_ARGUMENTS.slice(5)] as const
