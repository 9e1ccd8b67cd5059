/** Bounds on live requests that are followed (docs/explain.md). */

export const USES_MAX = 100
export const LIFETIME_S_MAX = 600
/** Tokens that are good at a time. */
export const ARMED_MAX = 16
/** Stories that are kept, of all tokens together. */
export const STORIES_MAX = 100
