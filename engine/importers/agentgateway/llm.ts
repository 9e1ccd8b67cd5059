/** What `llm` says in other words: names of models by expressions, and choices under conditions. */

import type { ForeignFile } from '#engine/contract/importer.ts'
import type { Draft } from '#engine/importers/draft.ts'
import { entriesOf, objectOf, type Path, type Raw, text } from '#engine/schema/placed.ts'
import { weirGuards } from './guards.ts'

const STRIPPED = /^llmRequest\.model\.stripPrefix\((["'])([^"'\\]*)\1\)$/

export function rewriteLlm(draft: Draft, file: ForeignFile): void {
  const { value } = draft
  if (value.llm === undefined) return
  const llm = objectOf(value.llm)
  for (const { raw } of entriesOf(llm.models, ['llm', 'models'])) stripPrefix(raw)
  const routed = entriesOf(llm.virtualModels, ['llm', 'virtualModels']).filter(({ raw }) => byConditions(raw, llm))
  if (routed.length > 0) {
    const left = (llm.virtualModels as unknown[]).filter((one) => !routed.some(({ raw }) => raw === one))
    if (left.length === 0) delete llm.virtualModels
    else llm.virtualModels = left
  }
  for (const { raw, path } of entriesOf(llm.models, ['llm', 'models'])) guard(raw, path)
  guard(llm, ['llm'])

  function guard(raw: Raw, path: Path): void {
    if (raw.promptGuard === undefined) return
    raw.promptGuard = weirGuards(objectOf(raw.promptGuard), [...path, 'promptGuard'], draft, file)
  }
}

/** The name without what the pattern begins with: its star. */
function stripPrefix(model: Raw): void {
  const { model: expression, ...others } = objectOf(model.transformation)
  const [, , prefix] = STRIPPED.exec(text(expression) ?? '') ?? []
  if (prefix === undefined || model.name !== `${prefix}*` || Object.keys(others).length > 0) return
  if (objectOf(model.params).model !== undefined) return
  delete model.transformation
  model.params = { ...objectOf(model.params), model: '*' }
}

/** The body gets the name of the model that the first true condition leads to; aliases show internal models. */
function byConditions(virtual: Raw, llm: Raw): boolean {
  const targets = entriesOf(objectOf(objectOf(virtual.routing).conditional).targets, [])
  const policies = objectOf(llm.policies)
  const name = text(virtual.name)
  const isSound = targets.every(
    ({ raw }, i) => typeof raw.model === 'string' && (i === targets.length - 1) === (raw.when === undefined)
  )
  if (name === undefined || targets.length === 0 || !isSound) return false
  if (policies.transformations !== undefined || policies.transformation !== undefined) return false
  const aliased = (model: string): string => `${name}/${model}`
  const choice = targets.reduceRight(
    (rest, { raw }) =>
      raw.when === undefined
        ? JSON.stringify(aliased(String(raw.model)))
        : `(${readsBody(String(raw.when))}) ? ${JSON.stringify(aliased(String(raw.model)))} : ${rest}`,
    ''
  )
  const chosen = `toJson(json(request.body).merge({"model": ${choice}}))`
  const body = `json(request.body).model == ${JSON.stringify(name)} ? ${chosen} : request.body`
  llm.policies = { ...policies, transformation: { request: { body } } }
  llm.modelAliases = {
    ...objectOf(llm.modelAliases),
    ...Object.fromEntries(targets.map(({ raw }) => [aliased(String(raw.model)), raw.model]))
  }
  return true
}

const readsBody = (expression: string): string => expression.replace(/\bllmRequest\b/g, 'json(request.body)')
