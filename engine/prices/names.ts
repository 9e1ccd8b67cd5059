/**
 * Names under which a price list may have a model: as it is called, then without what says nothing about its price.
 * Clouds and providers put regions ahead of names, and dates and versions behind them.
 */

/** "models/", "publishers/google/models/", "accounts/fireworks/models/"; ARNs of inference profiles and models. */
const FOLDERS = /^(?:arn:[^/]*\/|publishers\/[^/]+\/models\/|accounts\/[^/]+\/(?:models|routers)\/|models\/)/
/** Where a profile of Amazon Bedrock sends requests: `us.`, `eu.`, `apac.`, `global.` ("Inference profiles"). */
const REGION = /^(?:us-gov|us|eu|apac|au|jp|ca|sa|me|af|uk|global)\.(?=[a-z0-9]+\.)/
/** Bedrock's version of a model: "-v1:0", ":0". */
const BEDROCK_VERSION = /(?:-v\d+)?(?::\d+(?:k|:\d+)?)$|-v\d+$/
/** 2024-08-06, 20250929 behind a dash or Vertex AI's @, 0613, 001, and names that move from one to the next. */
const STAMP = /(?:-\d{4}-\d{2}-\d{2}|[-@]\d{8}|@(?:default|latest)|-latest|-\d{4}|-00\d)$/
/** OpenAI: ft:gpt-4o-mini-2024-07-18:organisation:suffix:id. */
const FINE_TUNED = /^(ft:[^:]+):.*$/
const NAMES_MAX = 8
const CHARS_MAX = 256

/** The most precise first, in lower case. A fine-tuned model is never taken for the one that it is made of. */
export function namesOf(model: string): readonly string[] {
  if (model.length === 0 || model.length > CHARS_MAX) return []
  const names: string[] = []
  const add = (name: string) => {
    if (name !== '' && !names.includes(name) && names.length < NAMES_MAX) names.push(name)
  }
  let name = model.toLowerCase()
  add(name)
  for (const pattern of [FOLDERS, FINE_TUNED, STAMP, BEDROCK_VERSION, STAMP]) {
    name = name.replace(pattern, '$1'.slice(0, pattern === FINE_TUNED ? 2 : 0))
    add(name)
  }
  // Behind the region there is no difference but for models that have prices by region.
  for (const one of [...names]) add(one.replace(REGION, ''))
  return names
}
