//! Starts of the batches of an epoch, computed ahead of the player: the model of `store_order`.

use arch::store::order::{KEY_ROTATION, KEY_STEP, ROUNDS, change};

/// Up to three places, each at another point of its way.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    /// The number of the last batch, and the bits that a number may have.
    last: u32,
    mask: u32,
    masked: bool,
    number: u32,
    place: u32,
    round: u32,
    key_of_epoch: u32,
    key_of_round: u32,
    /// What is left of the product of a place with the rows of a batch, and what there is of it.
    product: Option<Product>,
    /// The row that is offered.
    pub(super) row: usize,
    pub(super) there: bool,
}

#[derive(Debug, Clone, Copy)]
struct Product {
    factor: u32,
    addend: usize,
    row: usize,
}

impl Places {
    /// Of so many batches.
    pub(super) fn restart(&mut self, records: u32, key: u32) {
        let row = self.row;
        *self =
            Places { last: records.wrapping_sub(1), key_of_epoch: key, key_of_round: key, row, ..Places::default() };
    }

    /// One cycle, in which the row may be taken.
    pub(super) fn cycle(&mut self, take: bool, batch_rows: usize) {
        let found = self.masked && self.round == ROUNDS && self.place <= self.last;
        let made = self.product.filter(|product| product.factor == 0 && (!self.there || take));
        let factor = self.place;
        let accept = found && (self.product.is_none() || made.is_some());
        self.walk(accept);
        self.there &= !take;
        if let Some(Product { row, .. }) = made {
            (self.row, self.there, self.product) = (row, true, None);
        }
        if let Some(product) = &mut self.product {
            product.row += if product.factor & 1 == 1 { product.addend } else { 0 };
            product.addend <<= 1;
            product.factor >>= 1;
        }
        if accept {
            self.product = Some(Product { factor, addend: batch_rows, row: 0 });
        }
    }

    /// The network: the next round, or the next number if the place of this one has been accepted.
    fn walk(&mut self, accepted: bool) {
        if !self.masked {
            self.masked = self.last & !self.mask == 0;
            self.mask = if self.masked { self.mask } else { self.mask << 1 | 1 };
        } else if self.round < ROUNDS {
            self.place ^= change(self.place, self.round, self.key_of_round) & self.mask;
            self.key_of_round = self.key_of_round.rotate_right(KEY_ROTATION);
            self.round += 1;
        } else if self.place > self.last || accepted {
            if accepted {
                self.number = if self.number == self.last { 0 } else { self.number + 1 };
                self.place = self.number;
                let next = if self.number == 0 { KEY_STEP } else { 0 };
                self.key_of_epoch = self.key_of_epoch.wrapping_add(next);
            }
            (self.key_of_round, self.round) = (self.key_of_epoch, 0);
        }
    }
}
