/** What a backend of models would do with one call: plain data, for people who ask (docs/explain.md). */

export interface CallExplanation {
  /** Why the model's name leads to these targets; null: nothing else is called so. */
  readonly branch: string | null
  /** By priority, those of one priority together. */
  readonly targets: readonly CallTarget[]
  /** How one of them is chosen, and on what that rests. */
  readonly choice: string
  /** Who is asked after an error of these kinds, instead of the next target. */
  readonly fallbacks: readonly { readonly on: readonly string[]; readonly targets: readonly string[] }[]
  /** Null: answers are not kept. */
  readonly cache: CallCache | null
  /** Null: no target has been chosen. */
  readonly price: CallPrice | null
}

export interface CallTarget {
  readonly name: string
  /** By the name that price lists have for it. */
  readonly provider: string
  /** By the provider's name; null: the request names none. */
  readonly model: string | null
  /** From 1 on: those with a higher number are asked when the ones before have failed. */
  readonly priority: number
  /** By this run. */
  readonly isChosen: boolean
  /** What this request usually costs there, as decimal text; null: cost does not decide, or there is no price. */
  readonly usualCost: string | null
}

export interface CallCache {
  /** What makes two requests equal. */
  readonly key: string
  /** Whose answers the client may have. */
  readonly scope: string
  /** Whether the answer is looked for. */
  readonly lookup: string
}

/** Of the target that was chosen. */
export interface CallPrice {
  readonly currency: string
  /** The row: "openai gpt-4o-mini", where it is from, and its prices for this request. Null: there is none. */
  readonly row: { readonly name: string; readonly origin: string; readonly tier: string; readonly rates: string } | null
  /** What the call costs at most, as decimal text; null: it is not known. */
  readonly atMost: string | null
  /** What else is to be known; null: nothing. */
  readonly note: string | null
}
