import { doesNotMatch, equal, match } from 'node:assert/strict'
import type { Flow } from './flow.ts'

export const keysFlows: readonly Flow[] = [
  {
    page: 'keys',
    does: 'makes a key, which opens the gateway, then rotates, revokes, restores and removes it',
    run: async (page, stage) => {
      const status = async (key: string) =>
        (await fetch(`${stage.models}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status
      await page.getByRole('button', { name: 'New key' }).click()
      const form = page.getByRole('dialog', { name: 'New key' })
      await form.getByLabel('Name').fill('bot')
      await form.getByLabel('Team').fill('nobody')
      await form.getByRole('button', { name: 'Make the key' }).click()
      await form.getByText('there is no team nobody in the configuration').waitFor()
      equal(await form.getByLabel('Team').getAttribute('aria-invalid'), 'true')
      await form.getByLabel('Team').fill('support')
      await form.getByLabel('Budget', { exact: true }).fill('0.50')
      await form.getByLabel('Budget period').selectOption('Day')
      await form.getByRole('button', { name: 'Make the key' }).click()
      const value = await page.getByLabel('Value of the key').inputValue()
      match(value, /^sk-weir-/)
      equal(await status(value), 200)
      await page.getByRole('button', { name: 'Close' }).click()
      doesNotMatch(await page.content(), new RegExp(value))
      await page.getByRole('link', { name: 'bot' }).click()
      await page.waitForURL('**/ui/keys/bot')
      await page.getByRole('progressbar', { name: 'key/bot, per day' }).waitFor()

      await page.getByRole('button', { name: 'Rotate' }).click()
      await page.getByLabel('The value before is good').selectOption('0s')
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
      const second = await page.getByLabel('Value of the key').inputValue()
      equal(await status(second), 200)
      equal(await status(value), 401)
      await page.getByRole('button', { name: 'Close' }).click()

      for (const [verb, expected] of [
        ['Revoke', 401],
        ['Restore', 200]
      ] as const) {
        await page.getByRole('button', { name: verb }).click()
        await page.getByRole('dialog').getByRole('button', { name: verb }).click()
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        equal(await status(second), expected, verb)
      }
      await page.getByRole('button', { name: 'Remove' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
      await page.waitForURL('**/ui/keys')
      equal(await status(second), 401)
      equal(await page.getByRole('link', { name: 'bot' }).count(), 0)
    }
  },
  {
    page: 'keys',
    does: 'has nothing to press for who may only look, and says why',
    run: async (page) => {
      await page.route('**/api/v1/session', (route) =>
        route.fulfill({ json: { name: 'dashboards', role: 'see', csrf: 'x' } })
      )
      await page.reload()
      await page.getByText('dashboards: role see').waitFor()
      const button = page.getByRole('button', { name: 'New key' })
      equal(await button.isDisabled(), true)
      equal(await button.getAttribute('title'), 'This needs the role change; yours is see.')
    }
  },
  {
    page: 'keys',
    does: 'searches by key, and keeps the search in the address',
    run: async (page) => {
      await page.keyboard.press('/')
      await page.keyboard.type('laptop')
      await page.waitForURL('**/ui/keys?q=laptop')
      equal(await page.getByRole('link', { name: 'alice' }).count(), 0)
      await page.reload()
      await page.getByRole('link', { name: 'bob' }).waitFor()
      await page.getByRole('link', { name: 'bob' }).click()
      await page.getByText('it is changed there').waitFor()
      await page.getByRole('link', { name: 'What it has spent' }).click()
      await page.waitForURL('**/ui/spend?key=bob&by=model')
    }
  }
]
