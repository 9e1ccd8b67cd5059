/** What differs between Claude models, by their names as the API, Vertex AI, Foundry and Bedrock spell them. */

const NAME = /claude-(?:([a-z]+)-)?(\d{1,2})(?:[-.](\d{1,2})(?!\d))?(?!\d)/

interface Generation {
  readonly family: string | null
  /** 4.5 as 405. Null: a Claude without a number, or no Claude. */
  readonly version: number | null
  readonly isClaude: boolean
}

function generationOf(model: string): Generation {
  const match = NAME.exec(model)
  if (match === null) return { family: null, version: null, isClaude: model.includes('claude') }
  return { family: match[1] ?? null, version: Number(match[2]) * 100 + Number(match[3] ?? 0), isClaude: true }
}

/**
 * max_tokens when the caller set no limit: the largest that the API takes of the model ("Models overview", Max
 * output), as the other formats' default is the model's own limit: 128,000 since 4.6, 64,000 since 3.7 but for Opus 4
 * and 4.1. 4096, which every Claude takes, for names without a version; but a Claude that is to think (`thinks`)
 * gets the fields of 4.6 (thinkingOf), and thoughts are part of max_tokens: 64,000, which all of those take.
 */
export function maxTokensOf(model: string, thinks = false): number {
  const { family, version, isClaude } = generationOf(model)
  if (version === null && isClaude && thinks) return 64_000
  if (version === null || version < 305) return 4096
  if (version < 307) return 8192
  if (version >= 406) return 128_000
  return family === 'opus' && version >= 400 && version < 405 ? 32_000 : 64_000
}

/**
 * How a request turns thinking on ("Troubleshooting thinking"): `adaptive` with an effort since 4.6, a `budget` before
 * and on servers of other models that speak the format; models before 3.7 do not think.
 */
export function thinkingOf(model: string): 'adaptive' | 'budget' | 'none' {
  const { version, isClaude } = generationOf(model)
  if (version === null) return isClaude ? 'adaptive' : 'budget'
  if (version >= 406) return 'adaptive'
  return version >= 307 ? 'budget' : 'none'
}

/** Since 4.7 all but the defaults of temperature, top_p and top_k is 400 ("Claude Opus 4.7", "Claude Sonnet 5"). */
export function takesSampling(model: string): boolean {
  return (generationOf(model).version ?? 0) < 407
}

/** Since Opus 4.8, and Sonnet 5, messages of the role `system` are taken ("Mid-conversation system messages"). */
export function takesSystemTurns(model: string): boolean {
  return (generationOf(model).version ?? 0) >= 408
}

/**
 * Whether a last turn of the model is the beginning of its answer. Since 4.6 it is 400 ("What's new in Claude 4.6",
 * prefill removal); of names without a version, and of other models, it is not known.
 */
export function takesPrefill(model: string): boolean {
  const { version, isClaude } = generationOf(model)
  return isClaude && version !== null && version < 406
}
