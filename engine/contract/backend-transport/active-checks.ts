/** Active checks as a part of the policy `health`: not on backends whose addresses clients choose. */
import type { BackendPolicies } from '#engine/contract/backend-config.ts'

const UNCHECKED = 'asks servers that the configuration names'

export const activeCheckPolicies: BackendPolicies = {
  keys: { health: 'health' },
  schemas: {},
  inside: 'active',
  needsServers: true,
  words: {
    misplaced: () => `${UNCHECKED}, and here clients name them: use ejection`,
    unreached: () => `${UNCHECKED}, and there is none below`
  }
}
