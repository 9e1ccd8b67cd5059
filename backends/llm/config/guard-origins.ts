/** Where the rules of prompt guards stand, for messages about what they reject. */
import { entriesOf, objectOf, type Path, type Placed } from '#engine/schema/placed.ts'

/** Of a backend of models: its own guards, or those of its policies, as translateAi chooses. */
export function guardOrigins({ raw, path }: Placed, policies: Placed): (readonly [inside: string, path: Path])[] {
  const own = { raw: objectOf(raw.promptGuard), path: [...path, 'promptGuard'] }
  const ai = objectOf(policies.raw.ai)
  const around = { raw: objectOf(ai.promptGuard), path: [...policies.path, 'ai', 'promptGuard'] }
  const guards = raw.promptGuard === undefined ? around : own
  return ['request', 'response'].flatMap((side) =>
    entriesOf(guards.raw[side], [...guards.path, side]).flatMap((guard, i) =>
      ruleOrigins(guard, `promptGuard.${side}[${i}]`)
    )
  )
}

function ruleOrigins({ raw, path }: Placed, inside: string): (readonly [inside: string, path: Path])[] {
  const lists = ['builtins', 'matches'].flatMap((list) => {
    const rules = objectOf(raw.regex)[list]
    if (!Array.isArray(rules)) return []
    return rules.map((_, i) => [`${inside}.regex.${list}[${i}]`, [...path, 'regex', list, i]] as const)
  })
  return [[inside, path], ...lists]
}
