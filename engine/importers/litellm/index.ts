/** `weir import litellm`: the configuration of a LiteLLM proxy. */

import type { ForeignFile, Importer } from '#engine/contract/importer.ts'
import { Draft, ImportError } from '#engine/importers/draft.ts'
import { entriesOf, objectOf, type Path, type Raw, text } from '#engine/schema/placed.ts'
import { addCache } from './cache.ts'
import { deploymentOf } from './deployments.ts'
import { fallbacksOf } from './fallbacks.ts'
import { addGroups } from './groups.ts'
import { addKeys, settingOf } from './keys.ts'
import { targetsOf } from './mcp-servers.ts'
import { alwaysOn, foreignCallbacks, LOGS, type Row, rowOf, SECTIONS, TOP } from './settings.ts'
import { isSet } from './texts.ts'

const REFUSES_ALL = { rules: [{ deny: 'true' }] }

export const litellm: Importer = {
  name: 'litellm',
  title: 'LiteLLM',
  keepsPlaces: () => false,
  import: importFiles,
  includes: (value) => {
    const { include } = objectOf(value)
    return Array.isArray(include) ? include.filter((path): path is string => typeof path === 'string') : []
  },
  takesOut: (path) => {
    const isAccess = path[0] === 'llm' ? path[1] === 'policies' : path[0] === 'keys' || path[0] === 'organisations'
    return { out: path, closed: isAccess ? ['llm', 'policies', 'authorization'] : null }
  }
}

function importFiles(files: readonly ForeignFile[]): Draft {
  if (!files.some(({ value }) => Object.keys(objectOf(value)).some((key) => Object.hasOwn(TOP, key)))) {
    throw new ImportError('this is no configuration of LiteLLM: it has neither model_list nor general_settings')
  }
  const draft = new Draft()
  const environment: Raw = Object.assign(
    {},
    ...files.map(({ value }) => objectOf(objectOf(value).environment_variables))
  )
  const common = {
    environment,
    credentials: credentialsOf(files),
    checksLength: settingOf(files, 'router_settings', 'enable_pre_call_checks')?.value === true
  }
  const entries = files.flatMap((file) =>
    entriesOf(objectOf(file.value).model_list, ['model_list']).map((placed) => ({ file, ...placed, ...common }))
  )
  const deployments = entries.flatMap((entry) => deploymentOf(entry, draft) ?? [])
  const strategy = text(settingOf(files, 'router_settings', 'routing_strategy')?.value) ?? null
  const isByTags = settingOf(files, 'router_settings', 'enable_tag_filtering')?.value === true
  const isServed = addGroups(deployments, { strategy, isByTags, fallbacks: fallbacksOf(files, draft) }, draft)
  const llm = objectOf(draft.value.llm)
  const policies: Raw = {}
  for (const file of files) addSettings(file, llm, policies, draft)
  for (const file of files) addAliases(file, isServed, llm, draft)
  addCache(files, environment, llm, draft)
  addAnswerFields(draft)
  const virtualKeys = addKeys(files, environment, draft)
  if (virtualKeys !== null) policies.virtualKeys = virtualKeys
  else draft.comment(['llm'], ['No master_key: whoever reaches the port may call.'])
  if (deployments.length === 0) {
    for (const key of ['llm', 'config', 'frontendPolicies']) delete draft.value[key]
    draft.value.binds = []
  } else if (Object.keys(policies).length > 0) llm.policies = policies
  const targets = files.flatMap((file) => targetsOf(file, environment, draft))
  if (targets.length > 0) {
    draft.value.mcp = {
      port: 3000,
      targets,
      ...(virtualKeys === null ? {} : { policies: { virtualKeys } })
    }
    draft.comment(['mcp'], ['LiteLLM serves these at /mcp of its one port.'])
  }
  return draft
}

/** Its clients find the call in its records by x-litellm-call-id, and its cost in x-litellm-response-cost. */
function addAnswerFields(draft: Draft): void {
  draft.value.config = { prices: { responseHeader: true } }
  draft.value.frontendPolicies = { http: { requestId: { sendToClient: true } } }
  draft.comment(['frontendPolicies'], ['What x-litellm-call-id is there: each answer has x-request-id.'])
}

function credentialsOf(files: readonly ForeignFile[]): ReadonlyMap<string, Raw> {
  const all = files.flatMap(({ value }) => entriesOf(objectOf(value).credential_list, ['credential_list']))
  return new Map(all.map(({ raw }) => [String(raw.credential_name), objectOf(raw.credential_values)]))
}

function addSettings(file: ForeignFile, llm: Raw, policies: Raw, draft: Draft): void {
  const top = objectOf(file.value)
  const apply = (row: Row, value: unknown, path: Path): void => {
    if (!isSet(value) || row === 'nothing' || row === 'carried') return
    if (typeof row === 'function') {
      row(value, { llm, policies, refuse: (reason) => draft.note(file, path, reason) })
      return
    }
    draft.note(file, path, row.not)
    if (row.closes) policies.authorization = REFUSES_ALL
  }
  for (const [key, value] of Object.entries(top)) apply(rowOf(TOP, key), value, [key])
  for (const [section, rows] of Object.entries(SECTIONS)) {
    for (const [key, value] of Object.entries(objectOf(top[section]))) {
      apply(rowOf(rows, key), value, [section, key])
      const foreign = /callbacks?$/.test(key) ? foreignCallbacks(value) : []
      if (foreign.length > 0) apply(LOGS, value, [section, key])
    }
  }
  const guardrails = Array.isArray(top.guardrails) ? top.guardrails : []
  guardrails.forEach((guardrail: unknown, i) => {
    const closes = alwaysOn(guardrail)
    const reason = closes
      ? 'acts on every call, and is not carried: the port refuses everything'
      : 'guards by the wish of a call are not carried'
    apply(
      { not: `${reason}; promptGuard of llm has regex, webhook and moderation`, ...(closes ? { closes } : {}) },
      true,
      ['guardrails', i]
    )
  })
}

function addAliases(file: ForeignFile, isServed: (name: string) => boolean, llm: Raw, draft: Draft): void {
  const top = objectOf(file.value)
  for (const path of [
    ['router_settings', 'model_group_alias'],
    ['litellm_settings', 'model_alias_map']
  ] as const) {
    const aliases = objectOf(objectOf(top[path[0]])[path[1]])
    for (const [alias, to] of Object.entries(aliases)) {
      const model = text(to) ?? text(objectOf(to).model)
      if (model === undefined)
        draft.note(file, [...path, alias], 'is not the name of a model, so LiteLLM has no use for it either')
      else if (!isServed(model)) draft.note(file, [...path, alias], `"${model}" is no model of the file`)
      else llm.modelAliases = { ...objectOf(llm.modelAliases), [alias]: model }
    }
  }
}
