/** What cases are made of. */
import { Fleet, type Provider } from './fleet.ts'
import type { Server } from './servers.ts'

export interface CaseParts {
  readonly server: Server
  readonly provider: Provider
  /** Of its keys: no other case has it. */
  readonly prefix: string
}

export interface Case {
  readonly name: string
  readonly run: (parts: CaseParts) => Promise<string>
}

export const KEY = 'sk-alice-0001'
export const TEAM = 'team/ml'

/** `amount`: decimal text. */
export const team = (amount: string, more: object = {}) => ({
  teams: [{ name: 'ml', budgets: [{ amount, period: 'Total' }], ...more }],
  keys: [{ name: 'alice', key: KEY, team: 'ml' }]
})

export const count = (all: readonly { readonly status: number }[], status: number): number =>
  all.filter((one) => one.status === status).length

export const many = <T>(length: number, act: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length }, (_, i) => act(i)))

export async function withFleet(
  options: Parameters<typeof Fleet.start>[0],
  act: (fleet: Fleet) => Promise<string>
): Promise<string> {
  const fleet = await Fleet.start(options)
  try {
    return await act(fleet)
  } finally {
    await fleet.close()
  }
}

/** The provider answers as `answer` does, as long as `act` takes. */
export async function answering(
  provider: Provider,
  answer: Provider['answer'],
  act: () => Promise<string>
): Promise<string> {
  const usual = provider.answer
  provider.answer = answer
  try {
    return await act()
  } finally {
    provider.answer = usual
  }
}
