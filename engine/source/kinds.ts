/** The registered kinds of backends, as a source asks them. */
import type { BackendKind } from '#engine/contract/backend.ts'
import { authPolicies } from '#engine/contract/backend-auth/policies.ts'
import type { BackendConfig, BackendKey, BackendPolicies, Shortcut } from '#engine/contract/backend-config.ts'
import { transportPolicies } from '#engine/contract/backend-transport/policies.ts'
import type { Raw } from '#engine/schema/placed.ts'
import { resiliencePolicies } from '#engine/upstream/policies/index.ts'

/** A key that says what a backend is, and the kind behind it. */
export interface KindKey extends BackendKey {
  readonly config: BackendConfig
}

export interface KindShortcut extends Shortcut {
  readonly config: BackendConfig
}

export class Kinds {
  /** In the order of the registry. */
  readonly keys: readonly KindKey[]
  readonly shortcuts: readonly KindShortcut[]
  /** Policies that act on backends: of one protocol, of connections, of plain servers. */
  readonly policies: readonly BackendPolicies[]
  /** What a backend counts as that says nothing of its kind. */
  readonly #plain: BackendConfig | undefined

  constructor(kinds: readonly BackendKind[], isTranslated: boolean) {
    const all = [...new Set(kinds.flatMap(({ config }) => config ?? []))]
    const configs = all.filter((config) => config.isTranslated !== true || isTranslated)
    const of = (isPlain: boolean) => configs.filter((config) => (config.isPlain === true) === isPlain)
    this.keys = configs.flatMap((config) => config.keys.map((key) => ({ ...key, config })))
    this.shortcuts = configs.flatMap((config) =>
      config.shortcut === undefined ? [] : [{ ...config.shortcut, config }]
    )
    const policies = [
      ...of(false),
      { policies: [authPolicies, transportPolicies, resiliencePolicies] },
      ...of(true)
    ].flatMap((one) => one.policies)
    const [whole, parts] = [
      policies.filter(({ inside }) => inside === undefined),
      policies.filter(({ inside }) => inside)
    ]
    // A part of a policy behind the policy: what is wrong with all of it is said once.
    this.policies = [...new Set([...whole, ...parts])]
    this.#plain = of(true)[0]
  }

  /** The key that says what a backend is: the first, but that of a plain server only when there is no other. */
  keyOf(raw: Raw): KindKey | undefined {
    const present = this.keys.filter(({ name }) => raw[name] !== undefined)
    return present.find(({ config }) => config.isPlain !== true) ?? present[0]
  }

  configOf(raw: Raw): BackendConfig | undefined {
    return this.keyOf(raw)?.config ?? this.#plain
  }

  /** Names of policies that act on backends -> the field that they say, where the last that says it holds. */
  fields(): Readonly<Record<string, string>> {
    return Object.assign({}, ...this.policies.filter(({ addsUp }) => addsUp !== true).map(({ keys }) => keys))
  }
}

type KnownKinds = WeakMap<readonly BackendKind[], Kinds>

const written: KnownKinds = new WeakMap()
const translated: KnownKinds = new WeakMap()

/** Of a registry; made once for each. `isTranslated`: as a configuration has them that is made of resources. */
export function kindsOf(registry: readonly BackendKind[], isTranslated = false): Kinds {
  const known = isTranslated ? translated : written
  const kinds = known.get(registry) ?? new Kinds(registry, isTranslated)
  known.set(registry, kinds)
  return kinds
}
