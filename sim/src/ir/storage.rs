//! The storage that objects take, and objects that lie over others.

use super::{Class, ObjId, Object, Program};

impl Program {
    /// The object where an object's storage begins: itself, or the object that it lies over.
    pub fn base(&self, obj: ObjId) -> ObjId {
        self.objects[obj as usize].overlay.unwrap_or(obj)
    }

    /// The objects of some memory with storage of their own, and what an object takes: the most of the object and all
    /// that lies over it.
    pub fn storage(&self, class: Class, takes: impl Fn(&Object) -> i64) -> impl Iterator<Item = i64> {
        let own = self.objects.iter().enumerate().filter(move |(_, o)| o.class == class && o.overlay.is_none());
        own.map(move |(i, o)| {
            let over = self.objects.iter().filter(|x| x.overlay == Some(i as ObjId));
            over.map(&takes).fold(takes(o), i64::max)
        })
    }

    /// Shared memory of one CTA in bytes: objects with storage of their own, mailboxes, and 8 bytes for each mbarrier.
    pub fn shared_bytes(&self) -> i64 {
        let bytes = |o: &Object| o.slot_bytes() * i64::from(o.slots);
        let data: i64 = self.storage(Class::Shared, bytes).chain(self.storage(Class::Mailbox, bytes)).sum();
        data + self.mbars.iter().map(|b| i64::from(b.stages) * 8).sum::<i64>()
    }
}
