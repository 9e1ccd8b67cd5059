/** `weir proxy`: a gateway whose configuration comes from a controller. */
import { EXIT_CONFIG, EXIT_USAGE, type GatewayCommand } from './cli.ts'
import type { Loaded } from './control.ts'
import { Gateway } from './gateway.ts'
import { guarded } from './guarded.ts'
import type { ProgramParts } from './parts.ts'
import { readProxySettings } from './proxy-options.ts'
import { StreamSource } from './stream-source.ts'
import { leave } from './words.ts'

/** Null: its settings are wrong, and the user has been told. `loaded`: the settings of the process. */
export function proxyOf(
  { flags }: GatewayCommand & { readonly kind: 'proxy' },
  { draft }: Loaded & { readonly ok: true },
  parts: ProgramParts
): Gateway | null {
  const settings = readProxySettings(flags, process.env)
  if (typeof settings === 'string') {
    leave(EXIT_USAGE, `weir: ${settings}\nTry weir proxy --help.\n`)
    return null
  }
  if (draft.binds.length > 0) {
    leave(EXIT_CONFIG, 'weir: the file of a data plane has nothing but config: the controller says what is served\n')
    return null
  }
  const { warnings, mesh } = settings
  const source = (own: ConstructorParameters<typeof StreamSource>[2]) => new StreamSource(settings, draft, own)
  return new Gateway({ process: guarded(draft.process), warnings, mesh, isDemo: false, source }, parts)
}
