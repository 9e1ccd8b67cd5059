/** Prompt guards of agentgateway, whose rules are a list, and whose rejection is an answer. */

import type { ForeignFile } from '#engine/contract/importer.ts'
import type { Draft } from '#engine/importers/draft.ts'
import { entriesOf, objectOf, type Path, type Raw, text } from '#engine/schema/placed.ts'

const BUILTINS: Readonly<Record<string, string>> = {
  ...{ ssn: 'Ssn', creditCard: 'CreditCard', phoneNumber: 'PhoneNumber', email: 'Email', caSin: 'CaSin' }
}

export function weirGuards(guards: Raw, at: Path, draft: Draft, file: ForeignFile): Raw {
  const sides = (['request', 'response'] as const).flatMap((side) => {
    const all = entriesOf(guards[side], [...at, side])
    return all.length === 0 ? [] : [[side, all.map(({ raw, path }) => guardOf(raw, path, draft, file))] as const]
  })
  return { ...guards, ...Object.fromEntries(sides) }
}

function guardOf({ rejection, ...guard }: Raw, path: Path, draft: Draft, file: ForeignFile): Raw {
  const { status, body, headers } = objectOf(rejection)
  if (headers !== undefined) {
    draft.note(file, [...path, 'rejection', 'headers'], 'a rejection is an error of the format that the client speaks')
  }
  const response = {
    ...(typeof status === 'number' ? { statusCode: status } : {}),
    ...(text(body) === undefined ? {} : { message: messageOf(text(body)!) })
  }
  if (guard.azureContentSafety !== undefined)
    guard.azureContentSafety = withKey(objectOf(guard.azureContentSafety), [...path, 'azureContentSafety'], draft, file)
  const { rules, action, ...regex } = objectOf(guard.regex)
  const own = Array.isArray(rules) ? { regex: { ...regex, ...rulesOf(rules), ...actionOf(action) } } : {}
  return { ...guard, ...own, ...(Object.keys(response).length === 0 ? {} : { response }) }
}

/** There it has the identity that the process has in Azure. */
function withKey(safety: Raw, path: Path, draft: Draft, file: ForeignFile): Raw {
  const { auth, backendAuth } = objectOf(safety.policies)
  if (auth !== undefined || backendAuth !== undefined) return safety
  draft.note(file, path, 'identities of Azure are not read: the key of the resource is $AZURE_CONTENT_SAFETY_KEY')
  return { ...safety, policies: { ...objectOf(safety.policies), auth: { key: '$AZURE_CONTENT_SAFETY_KEY' } } }
}

const actionOf = (action: unknown): Raw =>
  typeof action === 'string' ? { action: action.charAt(0).toUpperCase() + action.slice(1) } : {}

function rulesOf(rules: readonly unknown[]): Raw {
  const builtins = rules.flatMap((rule) => text(objectOf(rule).builtin) ?? []).map((name) => BUILTINS[name] ?? name)
  const matches = rules.flatMap((rule) => text(objectOf(rule).pattern) ?? [])
  return { ...(builtins.length === 0 ? {} : { builtins }), ...(matches.length === 0 ? {} : { matches }) }
}

/** The body is an error of OpenAI's as often as not: what it says of itself. */
function messageOf(body: string): string {
  try {
    return text(objectOf(objectOf(JSON.parse(body)).error).message) ?? body
  } catch {
    // It is text, then.
    return body
  }
}
